#include "ps-server/service/memory_session.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/rpc/control/codec_values.h"
#include "ps-server/service/found_version.h"

namespace paceline::ps {
namespace {

// Of the rest of a message that has begun, and of the other end taking an answer.
constexpr Duration kPatience = std::chrono::seconds(60);

// A descriptor that says when the process is dead; a child that it has forked may hold its sockets.
int WatchProcess(const StatusOr<rpc::MemorySocket::Peer>& peer) {
#ifdef SYS_pidfd_open
  if (peer.ok()) return static_cast<int>(::syscall(SYS_pidfd_open, peer->process, 0));
#endif
  return -1;
}

void Encode(const store::Receipt& receipt, v1::PushReceipt& encoded) {
  encoded.mutable_block_squared_norms()->Add(receipt.block_squared_norms.begin(),
                                             receipt.block_squared_norms.end());
  encoded.set_is_finite(receipt.is_finite);
}

// Unimplemented, whatever it is: the sender then takes a socket.
store::PushMemory MemoryOf(size_t size_bytes) {
  return [size_bytes]() -> StatusOr<std::shared_ptr<store::Region>> {
    auto region = store::Region::Shareable(size_bytes, store::Region::Others::kWrite);
    if (!region.ok()) return Unimplemented("{}", Message(region.status()));
    return std::shared_ptr<store::Region>(*std::move(region));
  };
}

}  // namespace

MemorySession::MemorySession(ShardHost& host, rpc::MemorySocket socket)
    : host_(host), socket_(std::move(socket)), process_(WatchProcess(socket_.peer())) {}

void MemorySession::Run() {
  Wake wake = Wake::kMessage;
  while ((wake = Await()) == Wake::kMessage) {
    v1::MemoryRequest request;
    if (!socket_.Receive(request, kPatience).ok()) break;
    const StatusOr<Answer> answer = Handle(request);
    if (!answer.ok() || !socket_.Send(answer->message, kPatience, answer->descriptor).ok()) break;
  }
  socket_.ShutDown();
  if (wake != Wake::kDead) {
    for (const auto& [id, published] : read_) published->Abandon();
  }
  read_.clear();
  begun_.reset();
  memory_.reset();
  has_ended_ = true;
}

MemorySession::Wake MemorySession::Await() {
  pollfd waited[] = {{.fd = socket_.descriptor(), .events = POLLIN},
                     {.fd = process_.get(), .events = POLLIN}};
  while (true) {
    if (::poll(waited, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return Wake::kGone;
    }
    if (waited[1].revents != 0) return Wake::kDead;
    if ((waited[0].revents & POLLIN) != 0) return Wake::kMessage;
    return Wake::kGone;
  }
}

StatusOr<MemorySession::Answer> MemorySession::Handle(const v1::MemoryRequest& request) {
  Answer answer;
  Status status;
  switch (request.request_case()) {
    case v1::MemoryRequest::kStage:
      status = Stage(request.stage(), answer.message);
      break;
    case v1::MemoryRequest::kSeal:
      status = Seal(request.seal(), answer.message);
      break;
    case v1::MemoryRequest::kPull:
      status = Pull(request.pull(), answer.message);
      break;
    case v1::MemoryRequest::kRelease:
      if (read_.erase(request.release().region()) == 0)
        return InvalidArgument("no version is read there: {}", request.release().region());
      break;
    case v1::MemoryRequest::kMap: {
      const uint64_t region = request.map().region();
      const auto found = read_.find(region);
      if (found != read_.end()) {
        answer.descriptor = found->second->memory().descriptor();
      } else if (begun_ && begun_->staging.lease != nullptr &&
                 begun_->staging.lease->id() == region) {
        answer.descriptor = begun_->staging.lease->descriptor();
      } else {
        return InvalidArgument("no such region: {}", region);
      }
      if (answer.descriptor < 0) {
        const bool is_read = found != read_.end();
        status = Unimplemented("the shard's memory cannot be shared: {}",
                               is_read ? found->second->memory().why_private() : "it is private");
      }
      break;
    }
    case v1::MemoryRequest::REQUEST_NOT_SET:
      return InvalidArgument("request is none of ours");
  }
  if (!status.ok()) {
    answer.message.Clear();
    answer.message.set_code(static_cast<uint32_t>(status.code()));
    answer.message.set_message(Message(status));
  }
  return answer;
}

Status MemorySession::Stage(const v1::StagePush& request, v1::MemoryAnswer& answer) {
  begun_.reset();
  const store::PushId id = rpc::Decode(request.push());
  PACELINE_ASSIGN_OR_RETURN(std::shared_ptr<store::Shard> shard,
                            host_.Serving(rpc::Decode(request.generation())));
  PACELINE_RETURN_IF_ERROR(host_.CheckLife(id.worker, id.incarnation));
  const size_t size = shard->slice().size_bytes();
  if (request.total_bytes() != size) {
    return InvalidArgument("size of the slice differs: got {} bytes, want {}",
                           request.total_bytes(), size);
  }
  if (memory_ == nullptr || pushed_to_.lock() != shard) {
    memory_ = std::make_shared<const store::PushMemory>(MemoryOf(size));
    pushed_to_ = shard;
  }
  PACELINE_ASSIGN_OR_RETURN(store::Staging staging, shard->Stage(id, memory_));
  if (staging.sealed != nullptr) {
    Encode(*staging.sealed, *answer.mutable_receipt());
    return OkStatus();
  }
  answer.set_ticket(staging.ticket);
  answer.set_region(size == 0 ? 0 : staging.lease->id());
  answer.set_region_bytes(size);
  const store::SliceParts parts = store::PartsOf(shard->layout(), shard->slice());
  answer.set_parameters_end(parts.parameters_end);
  answer.set_floats_end(parts.floats_end);
  answer.set_integers_begin(parts.integers_begin);
  begun_ = Begun{id, std::move(shard), std::move(staging)};
  return OkStatus();
}

Status MemorySession::Seal(const v1::SealPush& request, v1::MemoryAnswer& answer) {
  if (!begun_ || begun_->staging.ticket != request.ticket())
    return Aborted("no such push was begun here: ticket {}", request.ticket());
  PACELINE_RETURN_IF_ERROR(host_.CheckLife(begun_->id.worker, begun_->id.incarnation));
  const store::Shard& shard = *begun_->shard;
  const uint64_t parameters = store::PartsOf(shard.layout(), shard.slice()).parameters_end;
  const auto& norms = request.judged().block_squared_norms();
  if (const uint64_t blocks = (parameters + store::kBlockBytes - 1) / store::kBlockBytes;
      static_cast<uint64_t>(norms.size()) != blocks) {
    return InvalidArgument("push is judged in {} blocks, want {}", norms.size(), blocks);
  }
  PACELINE_ASSIGN_OR_RETURN(const auto receipt,
                            begun_->shard->Seal(begun_->id, request.ticket(),
                                                store::Receipt{{norms.begin(), norms.end()},
                                                               request.judged().is_finite()}));
  begun_.reset();
  Encode(*receipt, *answer.mutable_receipt());
  return OkStatus();
}

Status MemorySession::Pull(const v1::PullRequest& request, v1::MemoryAnswer& answer) {
  if (read_.size() >= kVersionsMax)
    return ResourceExhausted("too many versions are read on one connection: {}", read_.size());
  PACELINE_ASSIGN_OR_RETURN(FoundVersion found, FindVersion(host_, request));
  answer.set_version(found.version.value());
  answer.set_is_superseded(found.published == nullptr);
  answer.set_is_average(request.is_average());
  if (found.published == nullptr || found.published->bytes().empty()) return OkStatus();
  const uint64_t region = found.published->memory().id();
  answer.set_region(region);
  answer.set_region_bytes(found.published->bytes().size());
  read_[region] = std::move(found.published);
  return OkStatus();
}

}  // namespace paceline::ps
