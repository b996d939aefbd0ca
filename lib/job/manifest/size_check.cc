#include "lib/job/manifest/size_check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/limits.h"
#include "lib/job/manifest/shape.h"

namespace paceline::job {
namespace {

// Walks a value without going deeper or further than the limits.
class Counter {
 public:
  explicit Counter(size_t values_max) : values_max_(values_max) {}

  bool Fits(const nlohmann::json& json, size_t depth) {
    if (!CountOne(depth)) return false;
    if (json.is_array()) {
      for (size_t i = 0; i < json.size(); ++i) {
        if (!Fits(json[i], depth + 1)) return At(fmt::format("[{}]", i));
      }
    }
    if (!json.is_object()) return true;
    for (const auto& [key, value] : json.items()) {
      if (!KeyFits(key)) return false;
      if (!Fits(value, depth + 1)) return At(key);
    }
    return true;
  }

  bool Fits(const Node& node, size_t depth) {
    if (!CountOne(depth)) return false;
    for (size_t i = 0; i < node.elements.size(); ++i) {
      if (!Fits(node.elements[i], depth + 1)) return At(fmt::format("[{}]", i));
    }
    for (const Node::Member& member : node.members) {
      if (!KeyFits(member.key)) return false;
      if (!Fits(member.value, depth + 1)) return At(member.key);
    }
    return true;
  }

  FieldError Error() const { return {path_, message_, 0}; }

 private:
  bool CountOne(size_t depth) {
    if (depth > limits::kManifestDepthMax) message_ = TooDeep();
    if (++values_ > values_max_) message_ = TooManyValues(values_max_);
    return message_.empty();
  }

  bool KeyFits(const std::string& key) {
    if (key.size() > limits::kManifestKeyBytesMax) message_ = TooLongKey();
    return message_.empty();
  }

  // Puts `step` in front of the path of what did not fit. Always false.
  bool At(const std::string& step) {
    const bool is_joined = path_.empty() || path_.front() == '[';
    path_ = is_joined ? step + path_ : Join(step, path_);
    return false;
  }

  const size_t values_max_;
  size_t values_ = 0;
  std::string path_;
  std::string message_;
};

}  // namespace

std::string TooManyValues(size_t values_max) {
  return fmt::format("more than {} values; a manifest is smaller", values_max);
}

std::string TooDeep() {
  return fmt::format("nested deeper than {} levels; a manifest is flatter",
                     limits::kManifestDepthMax);
}

std::string TooLongKey() {
  return fmt::format("holds a key of more than {} bytes", limits::kManifestKeyBytesMax);
}

std::optional<FieldError> CheckLength(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::nullopt;
  return FieldError{
      "", fmt::format("must be at most {} bytes long: got {}", bytes_max, text.size()), 0};
}

std::optional<FieldError> CheckSize(const nlohmann::json& json) {
  Counter counter(limits::kStoredJobValuesMax);
  if (counter.Fits(json, 0)) return std::nullopt;
  return counter.Error();
}

std::optional<FieldError> CheckSize(const Node& root) {
  Counter counter(limits::kManifestValuesMax);
  if (counter.Fits(root, 0)) return std::nullopt;
  return counter.Error();
}

}  // namespace paceline::job
