// Fields of spec.model and spec.data.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/data.h"

namespace paceline::job {

template <class V>
void Fields(V& visit, Model& model) {
  visit("torchScript", model.torch_script,
        Note{.text = "TorchScript file with forward(inputs); this or builtIn",
             .min = 1,
             .max = kPathMax});
  visit("builtIn", model.built_in,
        Note{.text = "small model for tests and first steps; this or torchScript"});
  visit("inputShape", model.input_shape,
        Note{.text = "built-in models: shape of one sample, [channels, height, width] for Cnn",
             .min = 1,
             .max = 1e6,
             .items_max = 8});
  visit("classes", model.classes,
        Note{.text = "built-in models: length of the output", .min = 1, .max = 1e6});
  visit(
      "hidden", model.hidden,
      Note{.text = "built-in models: hidden units (Mlp) or channels (Cnn)", .min = 1, .max = 1e6});
  visit("loss", model.loss,
        Note{.text = "what is minimised; Model is the module's own method loss(inputs, targets)"});
  visit("init", model.init,
        Note{.text = "starting values, a .safetensors file that has each parameter and buffer by "
                     "its name; absent: the file's own, or by training.seed of a built-in model",
             .min = 1,
             .max = kPathMax});
}

template <class V>
void Fields(V& visit, Data& data) {
  visit("train", data.train,
        Note{.text = "samples to train on: .safetensors with inputs and targets, .npy, IDX, or "
                     "tokens in .bin; a file, a folder of such files (its name ends in /), or a "
                     "name with * and ?; required without workers.command",
             .min = 1,
             .max = kPathMax});
  visit("trainTargets", data.train_targets,
        Note{.text = "targets of train, if train is .npy or IDX", .min = 1, .max = kPathMax});
  visit("eval", data.eval, Note{.text = "held-out samples, as train", .min = 1, .max = kPathMax});
  visit("evalTargets", data.eval_targets,
        Note{.text = "targets of eval, if eval is .npy or IDX", .min = 1, .max = kPathMax});
  visit("inputs", data.inputs,
        Note{.text = "tensors of .safetensors files that forward takes, in this order; absent: the "
                     "one called inputs",
             .min = 1,
             .max = kTensorNameMax,
             .items_max = kInputsMax});
  visit("sequenceLength", data.sequence_length,
        Note{.text = "tokens of one sample of a .bin file", .min = 1, .max = kCountMax});
  visit("tokenType", data.token_type,
        Note{.text = "numbers of a .bin file, little-endian, one after the other"});
  visit("onDrop", data.on_drop,
        Note{.text = "what becomes of the samples of a push that was not used: trained on later in "
                     "the epoch, or not"});
  visit("prefetchBatches", data.prefetch_batches,
        Note{.text = "batches that a worker's thread prepares while the one before is computed; 0: "
                     "each is gathered when it is its turn",
             .min = 0,
             .max = 64});
}

}  // namespace paceline::job
