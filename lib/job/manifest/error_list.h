// Defines ErrorList, which keeps as many errors as somebody reads.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/limits.h"
#include "lib/job/manifest/field_error.h"

namespace paceline::job {

class ErrorList {
 public:
  void Add(FieldError error) {
    if (errors_.size() < limits::kManifestErrorsMax) {
      errors_.push_back(std::move(error));
    } else {
      is_cut_ = true;
    }
  }

  // What is added now is not kept; a message that costs much need not be made.
  bool IsFull() const { return size() >= limits::kManifestErrorsMax; }

  size_t size() const { return errors_.size(); }
  const std::vector<FieldError>& kept() const { return errors_; }

  // In the order added; where some were not kept, the last one says so.
  std::vector<FieldError> Take() {
    if (is_cut_) {
      errors_.push_back(
          {"", fmt::format("more than {} errors; the rest is not listed", errors_.size()), 0});
    }
    return std::move(errors_);
  }

 private:
  std::vector<FieldError> errors_;
  bool is_cut_ = false;
};

}  // namespace paceline::job
