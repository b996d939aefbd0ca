#include "lib/learn/evaluating.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "lib/learn/catch_torch.h"
#include "lib/learn/data/columns.h"
#include "lib/learn/execution.h"

namespace paceline::learn {
namespace {

constexpr const char* kAccuracy = "accuracy";
constexpr size_t kReasonMax = 500;

// Means over batches of unlike sizes.
class Means {
 public:
  void Add(const std::map<std::string, double>& values, size_t samples) {
    for (const auto& [name, value] : values) {
      Sum& sum = sums_[name];
      sum.value += value * static_cast<double>(samples);
      sum.samples += static_cast<double>(samples);
    }
  }

  std::map<std::string, double> Get() const {
    std::map<std::string, double> means;
    for (const auto& [name, sum] : sums_) means[name] = sum.value / sum.samples;
    return means;
  }

 private:
  struct Sum {
    double value = 0;
    double samples = 0;
  };
  std::map<std::string, Sum> sums_;
};

// Counts right answers for as long as there are outputs that can be judged.
class Judge {
 public:
  // Whether it wants to see the next batch's outputs.
  bool Goes() const { return why_not_.empty(); }

  void See(const Outputs& outputs, const at::Tensor& targets) {
    if (!outputs.tensor.defined()) return GiveUp("the model gives no outputs but " + outputs.from);
    const Judged judged = CountCorrect(outputs.tensor, targets);
    if (judged.judged == 0) {
      return GiveUp(fmt::format("{}, of shape {}, holds no classes of targets of shape {}",
                                outputs.from, ShapeText(outputs.tensor.sizes()),
                                ShapeText(targets.sizes())));
    }
    from_ = outputs.from;
    sum_.correct += judged.correct;
    sum_.judged += judged.judged;
  }

  void GiveUp(std::string why) { why_not_ = std::move(why); }

  void Put(Evaluation& evaluation) const {
    if (Goes() && sum_.judged > 0) {
      evaluation.accuracy = static_cast<double>(sum_.correct) / static_cast<double>(sum_.judged);
    }
    evaluation.accuracy_from = (Goes() ? from_ : why_not_).substr(0, kReasonMax);
  }

 private:
  Judged sum_;
  std::string from_;
  std::string why_not_;
};

// A model with a loss of its own need not be able to run forward on inputs alone.
Status ShowOwnOutputs(Net& net, const Batch& batch, Judge& judge) {
  Outputs outputs;
  const Status status = CatchTorch([&]() -> Status {
    outputs = net.Forward(batch.inputs);
    return OkStatus();
  });
  if (status.code() == StatusCode::kResourceExhausted) return status;
  if (status.ok()) {
    judge.See(outputs, batch.targets);
  } else {
    judge.GiveUp("forward fails on inputs alone: " + Message(status));
  }
  return OkStatus();
}

}  // namespace

StatusOr<Evaluation> EvaluateAll(Model::State& model, const std::optional<Loss>& loss,
                                 const Dataset& data, uint64_t batch_size,
                                 const std::function<void()>& on_progress) {
  const at::NoGradGuard no_grad;
  model.Upload();
  model.net->SetMode(NetMode::kEvaluation);
  double loss_sum = 0;
  Means metrics;
  Judge judge;
  std::vector<uint32_t> samples;
  for (uint64_t begin = 0; begin < data.samples(); begin += batch_size) {
    samples.resize(std::min(batch_size, data.samples() - begin));
    std::iota(samples.begin(), samples.end(), static_cast<uint32_t>(begin));
    const Batch batch = GatherBatch(data, samples, model.device);
    const Computed computed = Compute(*model.net, loss, batch);
    loss_sum += computed.loss.item<double>() * static_cast<double>(samples.size());
    if (on_progress) on_progress();
    if (model.net->HasMetrics(batch.inputs.size())) {
      const auto values = model.net->Metrics(batch.inputs, batch.targets);
      metrics.Add(values, samples.size());
      if (values.contains(kAccuracy)) judge.GiveUp("the model's metrics");
    }
    if (!judge.Goes()) continue;
    if (loss) {
      judge.See(computed.outputs, batch.targets);
    } else {
      PACELINE_RETURN_IF_ERROR(ShowOwnOutputs(*model.net, batch, judge));
    }
  }
  Evaluation evaluation{.loss = loss_sum / static_cast<double>(data.samples()),
                        .metrics = metrics.Get(),
                        .samples = data.samples()};
  judge.Put(evaluation);
  if (const auto own = evaluation.metrics.find(kAccuracy); own != evaluation.metrics.end())
    evaluation.accuracy = own->second;
  return evaluation;
}

}  // namespace paceline::learn
