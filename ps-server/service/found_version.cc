#include "ps-server/service/found_version.h"

#include <utility>

#include "lib/rpc/control/codec_values.h"
#include "lib/store/slice_parts.h"

namespace paceline::ps {

StatusOr<FoundVersion> FindVersion(const ShardHost& host, const v1::PullRequest& request) {
  PACELINE_ASSIGN_OR_RETURN(const sync::Exactness exactness, rpc::Decode(request.exactness()));
  PACELINE_ASSIGN_OR_RETURN(const std::shared_ptr<store::Shard> shard,
                            host.Serving(rpc::Decode(request.generation())));
  const Version want(request.version());
  std::shared_ptr<const store::Published> newest = shard->Newest();
  if (newest == nullptr) return Unavailable("nothing is published yet: want {}", want);
  if (newest->version < want) {
    return Unavailable("version is not published yet: newest {}, want {}", newest->version, want);
  }
  if (exactness == sync::Exactness::kExact && newest->version != want) {
    auto exact = shard->Get(want);
    if (!exact.ok()) return FoundVersion{.version = newest->version};
    newest = *std::move(exact);
  }
  const Version version = newest->version;
  if (request.is_average()) {
    StatusOr<std::shared_ptr<const store::Published>> average = shard->AverageOf(*newest);
    if (average.status().code() == StatusCode::kNotFound)
      return FoundVersion{.version = shard->Newest()->version};
    PACELINE_ASSIGN_OR_RETURN(newest, std::move(average));
  }
  const uint64_t parameters_end = store::PartsOf(shard->layout(), shard->slice()).parameters_end;
  return FoundVersion{std::move(newest), version, parameters_end};
}

}  // namespace paceline::ps
