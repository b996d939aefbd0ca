#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"

namespace paceline::job {
namespace {

// What a name says of the files that it stands for. That of a folder or of a pattern with an open
// end says nothing; workers see when they open them.
enum class FileKind { kSafetensors, kTokens, kInputsAlone, kUnsaid };

FileKind KindOf(std::string_view name) {
  if (name.ends_with(".safetensors")) return FileKind::kSafetensors;
  if (name.ends_with(".bin")) return FileKind::kTokens;
  const bool is_open = name.ends_with('/') || name.ends_with('*') || name.ends_with('?');
  return is_open ? FileKind::kUnsaid : FileKind::kInputsAlone;
}

// Of the training samples and, if there are any, of the held-out ones.
std::vector<FileKind> KindsOf(const Data& data) {
  std::vector<FileKind> kinds = {KindOf(*data.train)};
  if (data.eval) kinds.push_back(KindOf(*data.eval));
  return kinds;
}

void CheckTargets(std::string_view field, const std::string& file,
                  const std::optional<std::string>& targets, Findings& findings) {
  const FileKind kind = KindOf(file);
  if (kind == FileKind::kUnsaid) return;
  const std::string path = fmt::format("spec.data.{}Targets", field);
  const bool has_targets = kind != FileKind::kInputsAlone;
  if (has_targets && targets) {
    findings.Add(path,
                 fmt::format("must be absent, since {} holds inputs and targets: got \"{}\"", file,
                             *targets),
                 {fmt::format("spec.data.{}", field)});
  } else if (!has_targets && !targets) {
    findings.Add(path,
                 fmt::format("is required, since {} holds inputs only (.safetensors and .bin hold "
                             "both; a folder's name ends in /)",
                             file),
                 {fmt::format("spec.data.{}", field)});
  }
}

void CheckTokens(const Data& data, Findings& findings) {
  const std::vector<FileKind> kinds = KindsOf(data);
  const bool has_tokens = std::ranges::count(kinds, FileKind::kTokens) > 0;
  const bool may_have = has_tokens || std::ranges::count(kinds, FileKind::kUnsaid) > 0;
  if (has_tokens && !data.sequence_length) {
    findings.Add("spec.data.sequenceLength",
                 "is required with .bin files: the tokens of one sample",
                 {"spec.data.train", "spec.data.eval"});
  } else if (!may_have && data.sequence_length) {
    findings.Add("spec.data.sequenceLength", "is for .bin files only, which hold tokens",
                 {"spec.data.train", "spec.data.eval"});
  }
  if (!may_have && data.token_type != TokenType::kUInt16) {
    findings.Add(
        "spec.data.tokenType",
        fmt::format("is for .bin files only, which hold tokens: got {}", ToWord(data.token_type)),
        {"spec.data.train", "spec.data.eval"});
  }
}

void CheckInputs(const JobSpec& spec, Findings& findings) {
  const Data& data = spec.data;
  if (data.inputs.empty()) return;
  const auto is_other = [](FileKind kind) {
    return kind != FileKind::kSafetensors && kind != FileKind::kUnsaid;
  };
  if (!spec.model.torch_script) {
    findings.Add("spec.data.inputs", "needs model.torchScript, whose forward takes them",
                 {"spec.model"});
  } else if (std::ranges::any_of(KindsOf(data), is_other)) {
    findings.Add("spec.data.inputs", "is for .safetensors files only, whose tensors have names",
                 {"spec.data.train", "spec.data.eval"});
  }
  for (auto name = data.inputs.begin(); name != data.inputs.end(); ++name) {
    if (std::find(data.inputs.begin(), name, *name) == name) continue;
    findings.Add(fmt::format("spec.data.inputs[{}]", name - data.inputs.begin()),
                 fmt::format("must not be there twice: got \"{}\"", *name));
  }
}

}  // namespace

void CheckData(const TrainingJob& job, Findings& findings) {
  if (!job.spec.workers.command.empty()) return;  // It reads its own: CheckModel.
  const Data& data = job.spec.data;
  if (!data.train) {
    findings.Add("spec.data.train", "is required: the samples to train on");
    return;
  }
  CheckTargets("train", *data.train, data.train_targets, findings);
  if (data.eval) {
    CheckTargets("eval", *data.eval, data.eval_targets, findings);
  } else if (data.eval_targets) {
    findings.Add("spec.data.evalTargets",
                 "needs spec.data.eval, the inputs that these targets belong to",
                 {"spec.data.eval"});
  }
  CheckTokens(data, findings);
  CheckInputs(job.spec, findings);
}

}  // namespace paceline::job
