#include "ps-server/processes/sharing.h"

#include <utility>

#include "lib/telemetry/log.h"
#include "ps-server/job_options.h"

namespace paceline::ps {

ShardHost::Memory MemoryFrom(const Options& options, const job::TrainingJob& job) {
  return SharesMemory(job, options.listen) ? ShardHost::Memory::kShareable
                                           : ShardHost::Memory::kPrivate;
}

std::unique_ptr<MemoryService> ShareMemory(const Options& options, const job::TrainingJob& job,
                                           ShardHost& host) {
  if (!SharesMemory(job, options.listen)) return nullptr;
  StatusOr<std::unique_ptr<MemoryService>> service = MemoryService::Start(host, options.listen);
  if (service.ok()) return *std::move(service);
  telemetry::Log(telemetry::LogLevel::kWarning, "no memory is shared with workers",
                 {{"reason", Message(service.status())}});
  return nullptr;
}

}  // namespace paceline::ps
