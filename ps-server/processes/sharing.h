// Defines how a process of the parameter server shares memory with workers beside it.
#pragma once

#include <memory>

#include "lib/job/manifest/training_job.h"
#include "ps-server/options.h"
#include "ps-server/service/memory_service.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

ShardHost::Memory MemoryFrom(const Options& options, const job::TrainingJob& job);

// Null where none is shared, and where it cannot be: the log says why, and workers take sockets.
// `host` outlives it.
std::unique_ptr<MemoryService> ShareMemory(const Options& options, const job::TrainingJob& job,
                                           ShardHost& host);

}  // namespace paceline::ps
