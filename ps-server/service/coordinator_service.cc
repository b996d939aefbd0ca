#include "ps-server/service/coordinator_service.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "lib/rpc/control/codec_shard.h"
#include "lib/rpc/control/codec_worker.h"
#include "lib/rpc/control/frozen_call.h"
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
  // The sessions outlive the stream.
  WorkerStream(Sessions& sessions, Peer peer) : sessions_(sessions), peer_(std::move(peer)) {}

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
      if (const Status welcome = peer_.Check(ClaimedBy(*join)); !welcome.ok())
        return FinishSoon(rpc::ToGrpcStatus(welcome));
      join_.Said();
    }
    sessions_.WorkerSaid(id_, *std::move(message));
  }

  static tls::Identity ClaimedBy(const protocol::Join& join) {
    if (join.role == protocol::Role::kEvaluator) return {.role = tls::Role::kEvaluator};
    return {.role = tls::Role::kWorker, .index = join.worker.value(), .group = join.group};
  }

  void Ended() override { sessions_.WorkerGone(id_); }

  Sessions& sessions_;
  const Peer peer_;
  coordination::ConnectionId id_;
  FirstWord join_;
};

class ShardStream final : public QueueingReactor<v1::ShardMessage, v1::ShardOrder>,
                          public ShardConnection {
 public:
  ShardStream(Sessions& sessions, Peer peer) : sessions_(sessions), peer_(std::move(peer)) {}

  // Before Begin.
  void Expect(const std::shared_ptr<ShardStream>& self, Duration join_longest) {
    register_.Await(join_longest, [weak = std::weak_ptr<ShardStream>(self), join_longest] {
      if (const auto stream = weak.lock()) stream->FinishSoon(TooLate("register", join_longest));
    });
  }

  void Send(const protocol::ShardOrder& order) override { Queue(rpc::Encode(order)); }
  void Close() override {
    is_closed_ = true;
    FinishSoon({grpc::StatusCode::UNAVAILABLE, "the coordinator has ended this session"});
  }

 private:
  void Received(const v1::ShardMessage& wire) override {
    if (is_closed_) return;
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
    if (const Status welcome = peer_.Check({tls::Role::kPs, first->shard.value()}); !welcome.ok())
      return FinishSoon(rpc::ToGrpcStatus(welcome));
    is_refused_ = !sessions_.ShardConnected(
        *first, std::static_pointer_cast<ShardStream>(shared_from_this()));
    if (is_refused_) return;
    shard_ = first->shard;
    register_.Said();
  }

  void Ended() override {
    if (shard_ && !is_closed_) sessions_.ShardGone(*shard_, end_);
  }

  Sessions& sessions_;
  const Peer peer_;
  std::atomic<bool> is_closed_ = false;
  std::optional<ShardId> shard_;  // Known once Register was accepted.
  bool is_refused_ = false;
  FirstWord register_;
  std::string end_ = "session ended";
};

}  // namespace

grpc::ServerBidiReactor<v1::WorkerMessage, v1::WorkerOrder>* CoordinatorService::WorkerSession(
    grpc::CallbackServerContext* context) {
  using tls::Role;
  StatusOr<Peer> peer = peers_.Check(*context, {Role::kWorker, Role::kEvaluator});
  if (!peer.ok()) return Refuse<v1::WorkerMessage, v1::WorkerOrder>(peer.status());
  const auto stream = std::make_shared<WorkerStream>(sessions_, *std::move(peer));
  stream->Connect(stream, join_longest_);
  return stream->Begin();
}

grpc::ServerBidiReactor<v1::ShardMessage, v1::ShardOrder>* CoordinatorService::ShardSession(
    grpc::CallbackServerContext* context) {
  StatusOr<Peer> peer = peers_.Check(*context, {tls::Role::kPs});
  if (!peer.ok()) return Refuse<v1::ShardMessage, v1::ShardOrder>(peer.status());
  const auto stream = std::make_shared<ShardStream>(sessions_, *std::move(peer));
  stream->Expect(stream, join_longest_);
  return stream->Begin();
}

grpc::ServerUnaryReactor* CoordinatorService::HandFrozen(grpc::CallbackServerContext* context,
                                                         const v1::FrozenPart* part,
                                                         v1::FrozenAnswer* answer) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  // An evaluator adopts, and sends nothing.
  const bool may_evaluate = part->adopts() && part->bytes().empty() && part->size() == 0;
  const Status welcome =
      (may_evaluate ? peers_.Check(*context, {tls::Role::kWorker, tls::Role::kEvaluator})
                    : peers_.Check(*context, {tls::Role::kWorker}))
          .status();
  if (!welcome.ok()) {
    reactor->Finish(rpc::ToGrpcStatus(welcome));
  } else if (take_frozen_ == nullptr) {
    reactor->Finish({grpc::StatusCode::UNIMPLEMENTED, "this coordinator takes none"});
  } else {
    rpc::Encode(take_frozen_(rpc::Decode(*part)), answer);
    reactor->Finish(grpc::Status::OK);
  }
  return reactor;
}

}  // namespace paceline::ps
