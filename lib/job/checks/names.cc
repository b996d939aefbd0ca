#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"
#include "lib/job/checks/counts.h"
#include "lib/job/checks/object_name.h"
#include "lib/job/process_name.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

constexpr size_t kLabelMax = 63;  // RFC 1123; a pod's name is its host name.

// RFC 1035, which is what API servers take for the name of a Service.
constexpr std::string_view kNameRule =
    "must be lower case letters, digits and '-', beginning with a letter and ending with a letter "
    "or digit: a Service gets that name";

}  // namespace

void CheckNames(const TrainingJob& job, Findings& findings) {
  const Metadata& metadata = job.metadata;
  const bool begins_with_digit =
      !metadata.name.empty() && metadata.name.front() >= '0' && metadata.name.front() <= '9';
  if (!IsDnsLabel(metadata.name) || begins_with_digit) {
    findings.Add("metadata.name", fmt::format("{}: got \"{}\"", kNameRule, metadata.name));
  }
  if (!IsDnsLabel(metadata.name_space)) {
    findings.Add("metadata.namespace",
                 fmt::format("{}: got \"{}\"", kLabelRule, metadata.name_space));
  } else if (metadata.name_space.size() > kLabelMax) {
    findings.Add("metadata.namespace", fmt::format("must be at most {} characters long: got {}",
                                                   kLabelMax, metadata.name_space.size()));
  }
  std::string longest = ProcessName(metadata.name, Role::kEvaluator, 0);
  const auto take = [&](std::string name) {
    if (name.size() > longest.size()) longest = std::move(name);
  };
  take(ProcessName(metadata.name, Role::kParameterServer,
                   Sum(job.spec.parameter_server.shards, -1)));
  for (const GroupView& group : GroupsOf(job.spec.workers)) {
    const int64_t last = std::max<int64_t>(0, Sum(group.most, -1));
    take(ProcessName(metadata.name, Role::kWorker, last, group.name));
  }
  if (longest.size() > kLabelMax) {
    findings.Add(
        "metadata.name",
        fmt::format("must be at most {} characters long, since names of pods add \"{}\" and may "
                    "have {}: got {}",
                    kLabelMax - (longest.size() - metadata.name.size()),
                    longest.substr(metadata.name.size()), kLabelMax, metadata.name.size()),
        {"spec.workers.replicas", "spec.workers.maxReplicas", "spec.workers.groups",
         "spec.parameterServer.shards"});
  }
}

}  // namespace paceline::job
