// Defines FlakyParameterClient: a ParameterClient that loses requests and answers as a script says.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "lib/rpc/bulk/parameter_client.h"

namespace paceline::rpc::testing {

enum class Mishap {
  kNone,
  kRequestLost,  // Unavailable, and nothing reached the shards.
  kAnswerLost,   // The shards have it, the caller gets DeadlineExceeded.
};

// Call number n meets the n-th mishap of the script; after its end all goes well. One owner at a
// time.
class FlakyParameterClient final : public ParameterClient {
 public:
  FlakyParameterClient(std::unique_ptr<ParameterClient> client, std::deque<Mishap> script)
      : client_(std::move(client)), script_(std::move(script)) {}

  int calls() const { return calls_; }

  Status Fill(WorkerId worker, Incarnation incarnation, std::span<const std::byte> payload,
              std::shared_ptr<const void> owner) override {
    return Meet<Status>([&] { return client_->Fill(worker, incarnation, payload, owner); });
  }
  StatusOr<PushReport> Push(const store::PushId& push, std::span<const std::byte> payload,
                            std::shared_ptr<const void> owner) override {
    return Meet<StatusOr<PushReport>>([&] { return client_->Push(push, payload, owner); });
  }
  StatusOr<PullReport> PullNamed(Version version, sync::Exactness exactness,
                                 std::span<std::byte> into, const OnNamed& on_named) override {
    return Meet<StatusOr<PullReport>>(
        [&] { return client_->PullNamed(version, exactness, into, on_named); });
  }

 private:
  template <class Result, class Call>
  Result Meet(Call call) {
    ++calls_;
    Mishap mishap = Mishap::kNone;
    if (!script_.empty()) {
      mishap = script_.front();
      script_.pop_front();
    }
    if (mishap == Mishap::kRequestLost) return Unavailable("request was lost: call {}", calls_);
    Result result = call();
    if (mishap == Mishap::kAnswerLost) return DeadlineExceeded("answer was lost: call {}", calls_);
    return result;
  }

  const std::unique_ptr<ParameterClient> client_;
  std::deque<Mishap> script_;
  int calls_ = 0;
};

}  // namespace paceline::rpc::testing
