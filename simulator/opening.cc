#include "simulator/opening.h"

#include <fmt/format.h>

#include "lib/chaos/trace_table.h"
#include "lib/process/read_file.h"

namespace paceline::simulator {

OpenedModel OpenModel(const LearntModel& model, const std::filesystem::path& folder) {
  OpenedModel opened;
  const auto path_of = [&](const FileField& file, std::string_view name) -> std::string {
    if (file.path.empty()) return "";
    const std::filesystem::path path = folder / file.path;
    std::error_code error;
    const bool is_pattern = file.path.find_first_of("*?[") != std::string::npos;
    if (!is_pattern && !std::filesystem::exists(path, error)) {
      opened.errors.push_back(
          {fmt::format("spec.objective.{}", name),
           fmt::format("must be a file, relative to the scenario's: got \"{}\", and there is no {}",
                       file.path, path.string()),
           file.line});
    }
    return path.string();
  };
  const ModelFiles files{.model = path_of(model.model, "model"),
                         .train = path_of(model.train, "train"),
                         .eval = path_of(model.eval, "eval"),
                         .loss = model.loss};
  if (!opened.errors.empty()) return opened;
  StatusOr<std::unique_ptr<ModelObjective>> objective = ModelObjective::Open(files);
  if (objective.ok()) {
    opened.objective = *std::move(objective);
  } else {
    opened.errors.push_back({"spec.objective", Message(objective.status()), model.model.line});
  }
  return opened;
}

std::vector<job::FieldError> OpenTraces(const std::filesystem::path& folder, Scenario& scenario) {
  std::vector<job::FieldError> errors;
  for (size_t i = 0; i < scenario.traces.size(); ++i) {
    const FileField& trace = scenario.traces[i];
    if (trace.path.empty()) continue;
    StatusOr<std::string> text = process::ReadFile((folder / trace.path).string());
    Status status = text.status();
    if (status.ok()) status = chaos::TraceTable::Parse(*text).status();
    if (!status.ok()) {
      errors.push_back({fmt::format("spec.cluster.chaos.delays[{}].trace", i),
                        fmt::format("must be a table of seconds, relative to the scenario's file: "
                                    "got \"{}\": {}",
                                    trace.path, Message(status)),
                        trace.line});
      continue;
    }
    scenario.cluster.injected_traces[trace.path] = *std::move(text);
  }
  return errors;
}

}  // namespace paceline::simulator
