// Defines Training: a model, its training set and its held-out set, computing mean gradients over
// ranges of an epoch's shuffled order.
//
// Example:
//   auto training = Training::Create({.model_path = "cnn.pt", .loss = "CrossEntropy",
//                                     .train = {.path = "train.safetensors"}});
//
//   auto result = (*training)->Step(std::vector<SampleRange>{{0, 0, 64}});
//
//   (*training)->push();  // The mean gradient over the 64 samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/learn/builtin.h"
#include "lib/learn/data/data_counts.h"
#include "lib/learn/data/dataset.h"
#include "lib/learn/data/sample_range.h"
#include "lib/learn/model.h"
#include "lib/learn/precision.h"
#include "lib/store/layout.h"

namespace paceline::learn {

struct StepResult {
  double loss = 0;  // Mean over the samples. Not finite where the model's is not.
  uint64_t samples = 0;
  uint64_t correct = 0;  // Of `judged` predictions.
  uint64_t judged = 0;   // Samples, or tokens; 0 where accuracy is not defined.
  // A batch was of one sample, and batch norm computed with what it had learnt before.
  bool took_statistics = false;
  // Parameters, but for frozen ones, that no backward pass has come to: the push has zeros there.
  // By place in the layout, ascending.
  std::vector<uint32_t> without_gradient = {};
};

struct Evaluation {
  double loss = 0;  // Mean over the samples.
  // 0..1; nothing where neither the outputs nor the model's metrics can be judged by.
  std::optional<double> accuracy;
  std::string accuracy_from;  // What the accuracy is of, or why there is none; for people.
  // What the model's own method metrics(inputs, targets) says, mean over the samples. Its
  // "accuracy" is the accuracy.
  std::map<std::string, double> metrics;
  uint64_t samples = 0;
};

struct TrainingOptions {
  std::string model_path;  // A TorchScript file; or:
  std::optional<BuiltIn>
      built_in;           // An empty input_shape and 0 outputs are taken from the training set.
  std::string init_path;  // A .safetensors file of starting values; empty: the model's own.
  // Parameters that are not trained (Model::Freeze). Empty: none.
  std::function<bool(std::string_view name)> is_frozen = {};
  std::string loss;  // A name of loss.h. Empty: the model's own method loss(inputs, targets).
  DatasetOptions train;
  std::optional<DatasetOptions> eval;
  uint64_t seed = 0;              // Of the epochs' orders, a built-in model's weights, and dropout.
  uint64_t micro_batch_size = 0;  // Samples held in memory at once, at most; 0: the whole step's.
  uint64_t prefetch_batches = 0;  // Prepared by a thread while the one before is computed, at most.
  uint64_t eval_batch_size = 256;
  Precision precision = Precision::kFloat32;  // Of steps; evaluations are in float32.
  int threads = 1;             // Of LibTorch's kernels. One value for the whole process.
  std::string device = "cpu";  // Or "cuda".
};

// Whether a step is still wanted. Cheap; may be asked on a thread of LibTorch's. Empty: it is.
using KeepGoing = std::function<bool()>;

// One owner at a time; may move between threads from call to call.
class Training {
 public:
  // Runs the model on a sample or two, so that what does not fit together is found here.
  // InvalidArgument: options, a model or data that are no good (model.h, dataset.h), or do not fit:
  // inputs that the model does not accept, outputs that do not fit the targets, a class beyond the
  // outputs; the message names file, shape and type.
  static StatusOr<std::unique_ptr<Training>> Create(const TrainingOptions& options);
  ~Training();

  const store::Layout& layout() const;
  uint64_t train_samples() const;

  // The model's own memory, arranged as the layout. What is written here is what the next Step
  // computes on.
  std::span<std::byte> parameters();

  // The next steps and evaluations compute on the parameters in `values`, arranged as the layout
  // and aligned to 64 bytes, in the place of those in parameters(), which are undefined from then
  // on; buffers are copied from there now. `values` outlives that, and empty ones end it. False,
  // and nothing has changed: only the model's own memory will do (a GPU's).
  bool ComputeOn(std::span<std::byte> values);

  // What the last Step left to push: mean gradients in the place of the parameters, then the
  // buffers' new values. Valid until the next Step.
  std::span<const std::byte> push() const;

  // Forward and backward over the ranges, in their order. The gradient is the mean over all their
  // samples, however they are cut into micro-batches. Values that are not finite are no error.
  //
  // Asks `keep_going` before and after each micro-batch's data are read, after its forward pass,
  // and in its backward pass whenever a parameter has its gradient.
  //
  // With `hand`, what push() would hold is handed over in parts, each byte once, on the thread that
  // computes: each gradient as soon as it is final, while the last backward pass goes on, and the
  // buffers at the end. push() is then undefined, and some parts may have been handed over when an
  // error comes. A GPU hands all of it over at the end.
  //
  // With kFloat16 a step whose loss is finite and whose gradients are not is given up, and the loss
  // scale lowered; at its least it is left as it is, for the model or the samples are to blame.
  //
  // InvalidArgument: no sample, or a range that ends before it begins. FailedPrecondition: batch
  // norm of one sample that has learnt nothing yet; no sample is to blame. OutOfRange: positions
  // beyond the training set. ResourceExhausted: out of memory. Cancelled: keep_going said no.
  // Aborted: gradients overflowed under loss scaling. Internal: LibTorch. After an error push() is
  // undefined, parameters() as before the call, buffers included.
  StatusOr<StepResult> Step(std::span<const SampleRange> ranges, const KeepGoing& keep_going = {},
                            const HandPart& hand = {});

  // From now on the epochs' orders and dropout are those of that seed, as if it had been made with
  // it. Weights stay as they are.
  void Reseed(uint64_t seed);

  // Of all steps so far.
  DataCounts data_counts() const;

  // What the next Step multiplies its loss by; 0 unless it is of kFloat16.
  double loss_scale() const;

  // Loss, accuracy and metrics over the whole held-out set, in evaluation mode; says each batch of
  // it to `on_progress`, if that is set. FailedPrecondition without such a set.
  StatusOr<Evaluation> Evaluate(const std::function<void()>& on_progress = {});

 private:
  struct State;
  explicit Training(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paceline::learn
