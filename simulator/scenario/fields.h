// Defines Fields: reads the members of one object of a scenario, and says what does not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"

namespace paceline::simulator {

struct Bounds {
  std::optional<double> min, above, max, below;
};

// The node outlives it. Each Take names a field that may be there; Done says which others are.
// Values stay as they are where a field is absent or wrong.
class Fields {
 public:
  Fields(const job::Node& node, std::string path, std::vector<job::FieldError>& errors);

  void Take(std::string_view name, double& value, const Bounds& bounds = {});
  void Take(std::string_view name, uint32_t& value, const Bounds& bounds = {});
  void Take(std::string_view name, uint64_t& value, const Bounds& bounds = {});
  void Take(std::string_view name, std::string& value);
  void Take(std::string_view name, bool& value);
  // One of those words: its place among them.
  void Take(std::string_view name, std::span<const std::string_view> words, size_t& place);
  // Null if it is absent, or null.
  const job::Node* Take(std::string_view name);
  void Require(std::string_view name);  // Says so if it is absent.
  void Done();
  // Of another object, whose errors go where these go.
  Fields Of(const job::Node& node, std::string path) const {
    return {node, std::move(path), errors_};
  }

  std::string PathOf(std::string_view name) const;
  void Fail(std::string_view name, std::string message);  // Of that field; "" of the object itself.

 private:
  bool TakeNumber(std::string_view name, double& value, bool is_whole, const Bounds& bounds);

  const job::Node& node_;
  const std::string path_;
  std::vector<job::FieldError>& errors_;
  std::vector<std::string_view> known_;
};

}  // namespace paceline::simulator
