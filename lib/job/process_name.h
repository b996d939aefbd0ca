// Tells the processes of a job apart, and names them: "digits-ps-0", "digits-worker-3",
// "digits-evaluator".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lib/job/manifest/words.h"

namespace paceline::job {

enum class Role { kParameterServer, kWorker, kEvaluator };
PACELINE_WORDS(Role, "ps", "worker", "evaluator")

// Which process of its job: so names, labels, certificates and status say it. It is the same
// however often the process is started, and whatever else of the job is scaled (docs/adr/0025).
struct ProcessId {
  std::string group;
  int64_t index = 0;  // In the group, from 0 on; 0 of the evaluator, of which there is one.
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// The group of a role's processes, of workers where their job lists no groups: "ps", "worker",
// "evaluator".
std::string_view GroupOf(Role role);
// `group`: as spec.workers.groups has it; empty for a process of a role's own group.
ProcessId IdOf(Role role, int64_t index, std::string_view group = "");

// Whether workers may be called so: with a '-' two jobs could have a pod of one name, and a role's
// own group is taken (docs/adr/0049).
bool IsGroupName(std::string_view name);

// The same name for the same process, whoever asks. The evaluator's has no index.
std::string ProcessName(std::string_view job, const ProcessId& process);
std::string ProcessName(std::string_view job, Role role, int64_t index,
                        std::string_view group = "");

struct NamedProcess {
  Role role = Role::kWorker;
  ProcessId id;
  friend bool operator==(const NamedProcess&, const NamedProcess&) = default;
};
// Back from a name; nothing where no process of that job can have it. Whether the job has one of
// that group and index is not asked.
std::optional<NamedProcess> ReadProcessName(std::string_view job, std::string_view name);

}  // namespace paceline::job
