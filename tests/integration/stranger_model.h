// Writes a model as strangers bring them: weights under two names, BatchNorm, a loss of its own,
// and an output that is a tuple or a dict.
#pragma once

#include <string>

namespace paceline::integration {

// Methods of the model, each with the loss that goes with its output.
extern const char* const kTupleOutput;
extern const char* const kDictOutput;

// For the digits' 64 inputs and 10 classes, at `path`, with these methods.
void SaveStranger(const std::string& path, const std::string& methods);

}  // namespace paceline::integration
