// Defines FindVersion: what a shard answers a pull with.
#pragma once

#include <cstdint>
#include <memory>

#include "paceline/v1/chunk.pb.h"

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

struct FoundVersion {
  std::shared_ptr<const store::Published> published;  // Null: superseded.
  Version version;                                    // Of it; the shard's newest if superseded.
  uint64_t parameters_end = 0;                        // Of its bytes: they are parameters.
};

// The version asked for, or the newest one where that may be; of averages, where they are asked
// for, a version that is neither pinned nor the newest is superseded. Unavailable if it is not
// published yet; the host's refusal of another generation; InvalidArgument if no exactness is
// named, or averages are asked for that nobody keeps.
StatusOr<FoundVersion> FindVersion(const ShardHost& host, const v1::PullRequest& request);

}  // namespace paceline::ps
