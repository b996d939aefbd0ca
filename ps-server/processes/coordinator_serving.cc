#include "ps-server/processes/coordinator_serving.h"

#include <utility>

#include "lib/base/limits.h"
#include "lib/telemetry/log.h"
#include "ps-server/advertised_address.h"
#include "ps-server/job_options.h"
#include "ps-server/processes/sharing.h"

namespace paceline::ps {
namespace {

constexpr Duration kPatience = std::chrono::seconds(2);

// Whoever sends is on the way, and not late.
protocol::FrozenAnswer TakeFrozen(FrozenFile& file, Driver& driver,
                                  const protocol::FrozenPart& part) {
  const protocol::FrozenAnswer answer = file.Take(part);
  const bool is_whole = answer.state == protocol::FrozenState::kHeld;
  if (!part.bytes.empty()) driver.FrozenArriving(is_whole ? part.size : answer.begin, part.size);
  return answer;
}

}  // namespace

CoordinatorServing::CoordinatorServing(const Asked& asked)
    : coordinator_(
          asked.driver, asked.tls.peers, Seconds(limits::kJoinSecondsMax),
          [&frozen = asked.frozen, &driver = asked.driver](const protocol::FrozenPart& part) {
            return TakeFrozen(frozen, driver, part);
          }),
      shard_(asked.host, asked.tls.peers, TransferIdleFrom(asked.job)) {}

StatusOr<std::unique_ptr<CoordinatorServing>> CoordinatorServing::Start(const Asked& asked) {
  std::unique_ptr<CoordinatorServing> serving(new CoordinatorServing(asked));
  PACELINE_ASSIGN_OR_RETURN(
      serving->server_, GrpcServer::Start({.address = asked.options.listen,
                                           .services = {&serving->coordinator_, &serving->shard_},
                                           .credentials = asked.tls.server,
                                           .keepalive_timeout = KeepaliveTimeoutFrom(asked.job)}));
  PACELINE_ASSIGN_OR_RETURN(serving->address_,
                            AdvertisedAddress(asked.options, serving->server_->address()));
  serving->memory_ = ShareMemory(asked.options, asked.job, asked.host);
  StatusOr<Endpoints> started = Endpoints::Start(asked.options, asked.tls, asked.metrics,
                                                 asked.live, asked.model, asked.driver);
  // A port that was asked for and is taken stays so.
  if (!started.ok() && asked.options.http_port != 0)
    return InvalidArgument("{}", Message(started.status()));
  PACELINE_RETURN_IF_ERROR(started.status());
  serving->endpoints_ = *std::move(started);
  telemetry::Log(telemetry::LogLevel::kInfo, "coordinating",
                 {{"address", serving->address_},
                  {"http_port", serving->endpoints_.plain->port()},
                  {"tls", asked.tls.server != nullptr}});
  return serving;
}

void CoordinatorServing::StopSessions() {
  memory_.reset();
  server_->Stop(kPatience);
}

void CoordinatorServing::Stop() {
  endpoints_.Stop();
  StopSessions();
}

}  // namespace paceline::ps
