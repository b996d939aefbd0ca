#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/checks/checks.h"

namespace paceline::job {
namespace {

void CheckTorchScript(const Model& model, Findings& findings) {
  constexpr std::string_view kOnly = "is for builtIn models only; a TorchScript file has its own";
  if (!model.input_shape.empty()) findings.Add("spec.model.inputShape", std::string(kOnly));
  if (model.classes) findings.Add("spec.model.classes", std::string(kOnly));
  if (model.hidden) findings.Add("spec.model.hidden", std::string(kOnly));
}

void CheckBuiltIn(const Model& model, Findings& findings) {
  if (model.input_shape.empty()) {
    findings.Add("spec.model.inputShape",
                 "is required with builtIn: the shape of one sample, such as [1, 8, 8]");
  } else if (*model.built_in == BuiltInModel::kCnn && model.input_shape.size() != 3) {
    findings.Add(
        "spec.model.inputShape",
        fmt::format("must have 3 numbers with builtIn Cnn, [channels, height, width]: got {}",
                    model.input_shape.size()));
  }
  if (!model.classes)
    findings.Add("spec.model.classes", "is required with builtIn: the length of the output");
  if (model.hidden && *model.built_in == BuiltInModel::kSoftmax) {
    findings.Add("spec.model.hidden",
                 "is for builtIn Mlp and Cnn only: Softmax has no hidden layer");
  }
  if (model.loss == Loss::kModel) {
    findings.Add("spec.model.loss",
                 "Model needs a torchScript file with a method loss: got builtIn");
  }
}

// What `file` says by its name: whether targets come with the inputs, and whether it is tokens.
struct FileKind {
  bool has_targets = false;
  bool is_tokens = false;
};

FileKind KindOf(std::string_view file) {
  const bool is_tokens = file.ends_with(".bin");
  return {.has_targets = is_tokens || file.ends_with(".safetensors"), .is_tokens = is_tokens};
}

void CheckTargets(std::string_view field, const std::string& file,
                  const std::optional<std::string>& targets, Findings& findings) {
  const std::string path = fmt::format("spec.data.{}Targets", field);
  if (KindOf(file).has_targets && targets) {
    findings.Add(path,
                 fmt::format("must be absent, since {} holds inputs and targets: got \"{}\"", file,
                             *targets),
                 {fmt::format("spec.data.{}", field)});
  } else if (!KindOf(file).has_targets && !targets) {
    findings.Add(
        path,
        fmt::format("is required, since {} holds inputs only (.safetensors and .bin hold both)",
                    file),
        {fmt::format("spec.data.{}", field)});
  }
}

void CheckData(const Data& data, Findings& findings) {
  CheckTargets("train", data.train, data.train_targets, findings);
  if (data.eval) {
    CheckTargets("eval", *data.eval, data.eval_targets, findings);
  } else if (data.eval_targets) {
    findings.Add("spec.data.evalTargets",
                 "needs spec.data.eval, the inputs that these targets belong to",
                 {"spec.data.eval"});
  }
  const bool has_tokens =
      KindOf(data.train).is_tokens || (data.eval && KindOf(*data.eval).is_tokens);
  if (has_tokens && !data.sequence_length) {
    findings.Add("spec.data.sequenceLength",
                 "is required with .bin files: the tokens of one sample",
                 {"spec.data.train", "spec.data.eval"});
  } else if (!has_tokens && data.sequence_length) {
    findings.Add("spec.data.sequenceLength", "is for .bin files only, which hold tokens",
                 {"spec.data.train", "spec.data.eval"});
  }
}

}  // namespace

void CheckModel(const TrainingJob& job, Findings& findings) {
  const Model& model = job.spec.model;
  if (model.torch_script && model.built_in) {
    findings.Add("spec.model", "must have torchScript or builtIn: got both");
  } else if (model.torch_script) {
    CheckTorchScript(model, findings);
  } else if (model.built_in) {
    CheckBuiltIn(model, findings);
  } else {
    findings.Add("spec.model",
                 "must have torchScript (a file) or builtIn (Softmax, Mlp, Cnn): got neither");
  }
  CheckData(job.spec.data, findings);
}

}  // namespace paceline::job
