#include "ps-server/service/coordinator_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "lib/rpc/codec_shard.h"
#include "lib/rpc/codec_worker.h"
#include "lib/rpc/grpc_status.h"
#include "ps-server/service/first_word.h"
#include "ps-server/service/queueing_reactor.h"
#include "ps-server/service/refusing_reactor.h"

namespace paceline::ps {
namespace {

grpc::Status TooLate(const char* word, Duration longest) {
  return {grpc::StatusCode::DEADLINE_EXCEEDED,
          fmt::format("no {} within {:.1f} s of the session", word, ToSeconds(longest))};
}

class WorkerStream final : public QueueingReactor<v1::WorkerMessage, v1::WorkerOrder>,
                           public WorkerConnection {
 public:
  // Both outlive the stream.
  WorkerStream(Sessions& sessions, const PeerRoles& peers,
               const grpc::CallbackServerContext& context)
      : sessions_(sessions), peers_(peers), context_(context) {}

  // Before Begin: nothing is received yet.
  void Connect(const std::shared_ptr<WorkerStream>& self, Duration join_longest) {
    id_ = sessions_.WorkerConnected(self);
    join_.Await(join_longest, [weak = std::weak_ptr<WorkerStream>(self), join_longest] {
      if (const auto stream = weak.lock()) stream->FinishSoon(TooLate("join", join_longest));
    });
  }

  void Send(const protocol::WorkerOrder& order) override { Queue(rpc::Encode(order)); }
  void Close() override { FinishSoon(grpc::Status::OK); }

 private:
  void Received(const v1::WorkerMessage& wire) override {
    StatusOr<protocol::WorkerMessage> message = rpc::Decode(wire);
    if (!message.ok()) return FinishSoon(rpc::ToGrpcStatus(message.status()));
    if (const auto* join = std::get_if<protocol::Join>(&*message)) {
      const bool is_evaluator = join->role == protocol::Role::kEvaluator;
      const Status welcome =
          peers_.Check(context_, {is_evaluator ? tls::Role::kEvaluator : tls::Role::kWorker});
      if (!welcome.ok()) return FinishSoon(rpc::ToGrpcStatus(welcome));
      join_.Said();
    }
    sessions_.WorkerSaid(id_, *std::move(message));
  }

  void Ended() override { sessions_.WorkerGone(id_); }

  Sessions& sessions_;
  const PeerRoles& peers_;
  const grpc::CallbackServerContext& context_;
  coordination::ConnectionId id_;
  FirstWord join_;
};

class ShardStream final : public QueueingReactor<v1::ShardMessage, v1::ShardOrder>,
                          public ShardConnection {
 public:
  explicit ShardStream(Sessions& sessions) : sessions_(sessions) {}

  // Before Begin.
  void Expect(const std::shared_ptr<ShardStream>& self, Duration join_longest) {
    register_.Await(join_longest, [weak = std::weak_ptr<ShardStream>(self), join_longest] {
      if (const auto stream = weak.lock()) stream->FinishSoon(TooLate("register", join_longest));
    });
  }

  void Send(const protocol::ShardOrder& order) override { Queue(rpc::Encode(order)); }
  void Close() override { FinishSoon(grpc::Status::OK); }

 private:
  void Received(const v1::ShardMessage& wire) override {
    StatusOr<protocol::ShardMessage> message = rpc::Decode(wire);
    if (!message.ok()) {
      end_ = Message(message.status());
      return FinishSoon(rpc::ToGrpcStatus(message.status()));
    }
    if (shard_) return sessions_.ShardSaid(*shard_, *std::move(message));
    const auto* const first = std::get_if<protocol::Register>(&*message);
    if (first == nullptr) {
      return FinishSoon(
          {grpc::StatusCode::INVALID_ARGUMENT, "first message of a shard is not register"});
    }
    if (is_refused_) return;
    is_refused_ = !sessions_.ShardConnected(
        *first, std::static_pointer_cast<ShardStream>(shared_from_this()));
    if (is_refused_) return;
    shard_ = first->shard;
    register_.Said();
  }

  void Ended() override {
    if (shard_) sessions_.ShardGone(*shard_, end_);
  }

  Sessions& sessions_;
  std::optional<ShardId> shard_;  // Known once Register was accepted.
  bool is_refused_ = false;
  FirstWord register_;
  std::string end_ = "session ended";
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerOrder>* CoordinatorService::WorkerSession(
    grpc::CallbackServerContext* context) {
  using tls::Role;
  const Status welcome = peers_.Check(*context, {Role::kWorker, Role::kEvaluator});
  if (!welcome.ok()) return Refuse<v1::WorkerMessage, v1::WorkerOrder>(welcome);
  const auto stream = std::make_shared<WorkerStream>(sessions_, peers_, *context);
  stream->Connect(stream, join_longest_);
  return stream->Begin();
}

grpc::ServerBidiReactor<v1::ShardMessage, v1::ShardOrder>* CoordinatorService::ShardSession(
    grpc::CallbackServerContext* context) {
  const Status welcome = peers_.Check(*context, {tls::Role::kPs});
  if (!welcome.ok()) return Refuse<v1::ShardMessage, v1::ShardOrder>(welcome);
  const auto stream = std::make_shared<ShardStream>(sessions_);
  stream->Expect(stream, join_longest_);
  return stream->Begin();
}

}  // namespace paceline::ps
