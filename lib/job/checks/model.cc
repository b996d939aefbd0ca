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

// A command brings its own: what stands here would say something of nothing.
void CheckOfCommand(const JobSpec& spec, Findings& findings) {
  const auto refuse = [&](bool is_set, const char* path, const char* what) {
    if (!is_set) return;
    findings.Add(path, fmt::format("must be absent with workers.command, which {}", what),
                 {"spec.workers.command"});
  };
  Data of_coordination;
  of_coordination.on_drop = spec.data.on_drop;
  of_coordination.prefetch_batches = spec.data.prefetch_batches;
  refuse(spec.model != Model(), "spec.model", "has its own model");
  refuse(spec.data != of_coordination, "spec.data", "reads its own data; only onDrop may be set");
  refuse(spec.training.precision != Precision::kFloat32, "spec.training.precision",
         "computes as it likes: use torch.autocast there");
  refuse(spec.training.micro_batch_size.has_value(), "spec.training.microBatchSize",
         "cuts its batches itself");
  if (spec.workers.command.front().empty())
    findings.Add("spec.workers.command", "must begin with a program: got an empty word");
}

}  // namespace

void CheckModel(const TrainingJob& job, Findings& findings) {
  if (!job.spec.workers.command.empty()) return CheckOfCommand(job.spec, findings);
  if (job.spec.workers.working_dir) {
    findings.Add("spec.workers.workingDir",
                 "is of workers.command, the program that starts there: got no command",
                 {"spec.workers.command"});
  }
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
  if (model.init && !model.init->ends_with(".safetensors")) {
    findings.Add("spec.model.init",
                 fmt::format("must be a .safetensors file: got \"{}\"", *model.init));
  }
}

}  // namespace paceline::job
