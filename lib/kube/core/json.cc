#include "lib/kube/core/json.h"

#include <vector>

namespace paceline::kube {
namespace {

// Where an object's managedFields may stand, as the keys on the way to them; "" is any array index.
// Top: metadata.managedFields. Watch event: object.metadata. List: items[].metadata.
bool IsManagedFieldsPath(const std::vector<std::string>& path) {
  const size_t n = path.size();
  if (n < 2 || path[n - 1] != "managedFields" || path[n - 2] != "metadata") return false;
  if (n == 2) return true;
  if (n == 3) return path[0] == "object";
  return n == 4 && path[0] == "items" && path[1].empty();
}

// Builds a Json as the library's own parser does, but leaves out what IsManagedFieldsPath names.
class SkippingBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit SkippingBuilder(Json& root) : root_(root) {}

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(int64_t value) override { return Value(value); }
  bool number_unsigned(uint64_t value) override { return Value(value); }
  bool number_float(double value, const std::string&) override { return Value(value); }
  bool string(std::string& value) override { return Value(std::move(value)); }
  bool binary(Json::binary_t& value) override { return Value(Json::binary(std::move(value))); }

  bool start_object(size_t) override { return Open(Json::value_t::object); }
  bool start_array(size_t) override { return Open(Json::value_t::array); }
  bool end_object() override { return CloseContainer(); }
  bool end_array() override { return CloseContainer(); }

  bool key(std::string& name) override {
    if (skipped_depth_ > 0) return true;
    path_.back() = std::move(name);
    skips_next_ = path_.size() <= 4 && IsManagedFieldsPath(path_);
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) override {
    error_ = error.what();
    return false;
  }

  const std::string& error() const { return error_; }

 private:
  template <class T>
  bool Value(T&& value) {
    if (skipped_depth_ > 0) return true;
    if (skips_next_) {
      skips_next_ = false;
      return true;
    }
    Place(Json(std::forward<T>(value)));
    return true;
  }

  bool Open(Json::value_t type) {
    if (skipped_depth_ > 0 || skips_next_) {
      skips_next_ = false;
      ++skipped_depth_;
      return true;
    }
    open_.push_back(Place(Json(type)));
    path_.emplace_back();
    return true;
  }

  bool CloseContainer() {
    if (skipped_depth_ > 0) {
      --skipped_depth_;
      return true;
    }
    open_.pop_back();
    path_.pop_back();
    return true;
  }

  // Pointers to open containers stay good: a parent grows only while none of its children is open.
  Json* Place(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[path_.back()] = std::move(value));
  }

  Json& root_;
  std::vector<Json*> open_;
  std::vector<std::string> path_;  // The key at which each open container stands now.
  int skipped_depth_ = 0;
  bool skips_next_ = false;
  std::string error_;
};

Status ParseFailure(std::string_view what, std::string_view text) {
  if (text.empty()) return InvalidArgument("JSON is empty");
  return InvalidArgument("JSON cannot be read: {}", what);
}

}  // namespace

StatusOr<Json> ParseJson(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    return ParseFailure(error.what(), text);
  }
}

StatusOr<Json> ParseJsonWithoutManagedFields(std::string_view text) {
  Json root;
  SkippingBuilder builder(root);
  try {
    if (Json::sax_parse(text, &builder)) return root;
  } catch (const Json::exception& error) {
    return ParseFailure(error.what(), text);
  }
  return ParseFailure(builder.error(), text);
}

std::string WriteJson(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json* Find(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    std::string part(pointer.substr(0, end));
    pointer.remove_prefix(end);
    for (size_t escape = 0; (escape = part.find('~', escape)) != std::string::npos; ++escape) {
      if (part.compare(escape, 2, "~1") == 0) part.replace(escape, 2, "/");
      if (part.compare(escape, 2, "~0") == 0) part.replace(escape, 2, "~");
    }
    if (at->is_object()) {
      const auto found = at->find(part);
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array() && !part.empty() && part.size() < 10 &&
               part.find_first_not_of("0123456789") == std::string::npos) {
      const size_t index = std::stoul(part);
      if (index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

std::string StringAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

int64_t IntegerAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool IsTrueAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

}  // namespace paceline::kube
