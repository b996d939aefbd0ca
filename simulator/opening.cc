#include "simulator/opening.h"

#include <fmt/format.h>

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

}  // namespace paceline::simulator
