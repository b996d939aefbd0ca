// Defines Findings, where the checks of a job put what they find.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/job/manifest/error_list.h"
#include "lib/job/manifest/field_error.h"

namespace paceline::job {

// Drops findings about fields that are known to be wrong in themselves: such a field holds its
// default, and comparing that with others would mislead.
class Findings {
 public:
  explicit Findings(const std::vector<FieldError>& known) : known_(known) {}

  // `involved`: the other fields that the finding depends on.
  void Add(std::string path, std::string message,
           std::initializer_list<std::string_view> involved = {}) {
    if (found_.IsFull()) return found_.Add({});  // Each is compared with all that were found.
    const auto is_known = [&](std::string_view field) { return IsKnownWrong(field); };
    if (is_known(path) || std::any_of(involved.begin(), involved.end(), is_known)) return;
    found_.Add({std::move(path), std::move(message), 0});
  }

  std::vector<FieldError> Take() { return found_.Take(); }

 private:
  static bool IsWithin(std::string_view path, std::string_view outer) {
    return path.starts_with(outer) &&
           (path.size() == outer.size() || path[outer.size()] == '.' || path[outer.size()] == '[');
  }

  bool IsKnownWrong(std::string_view field) const {
    const auto overlaps = [&](const FieldError& error) {
      // Of the text as a whole: nothing was read that could be judged.
      return error.path.empty() || IsWithin(error.path, field) || IsWithin(field, error.path);
    };
    return std::any_of(known_.begin(), known_.end(), overlaps) ||
           std::any_of(found_.kept().begin(), found_.kept().end(), overlaps);
  }

  const std::vector<FieldError>& known_;
  ErrorList found_;
};

}  // namespace paceline::job
