#include "lib/kube/core/label_selector.h"

#include <algorithm>

namespace paceline::kube {
namespace {

using Operator = LabelSelector::Operator;
using Requirement = LabelSelector::Requirement;

bool Holds(const Requirement& requirement, const StringMap& labels) {
  const auto held = labels.find(requirement.key);
  const bool is_there = held != labels.end();
  const auto is_listed = [&] {
    return std::binary_search(requirement.values.begin(), requirement.values.end(), held->second);
  };
  switch (requirement.op) {
    case Operator::kIn:
      return is_there && is_listed();
    case Operator::kNotIn:
      return !is_there || !is_listed();
    case Operator::kExists:
      return is_there;
    case Operator::kDoesNotExist:
      break;
  }
  return !is_there;
}

std::string Write(const Requirement& requirement) {
  const std::vector<std::string>& values = requirement.values;
  switch (requirement.op) {
    case Operator::kExists:
      return requirement.key;
    case Operator::kDoesNotExist:
      return "!" + requirement.key;
    case Operator::kIn:
      if (values.size() == 1) return requirement.key + "=" + values[0];
      return fmt::format("{} in ({})", requirement.key, fmt::join(values, ","));
    case Operator::kNotIn:
      break;
  }
  if (values.size() == 1) return requirement.key + "!=" + values[0];
  return fmt::format("{} notin ({})", requirement.key, fmt::join(values, ","));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Requirement>> Run() {
    std::vector<Requirement> requirements;
    SkipBlanks();
    while (at_ < text_.size()) {
      PACELINE_ASSIGN_OR_RETURN(Requirement requirement, One());
      requirements.push_back(std::move(requirement));
      SkipBlanks();
      if (at_ == text_.size()) break;
      if (!Take(",")) return Failure("a comma");
      SkipBlanks();
      if (at_ == text_.size()) return Failure("another requirement");
    }
    return requirements;
  }

 private:
  StatusOr<Requirement> One() {
    if (Take("!")) {
      PACELINE_ASSIGN_OR_RETURN(std::string key, Word("a label"));
      return Requirement{std::move(key), Operator::kDoesNotExist, {}};
    }
    PACELINE_ASSIGN_OR_RETURN(std::string key, Word("a label"));
    SkipBlanks();
    if (at_ == text_.size() || text_[at_] == ',') {
      return Requirement{std::move(key), Operator::kExists, {}};
    }
    if (Take("!=")) return WithValue(std::move(key), Operator::kNotIn);
    if (Take("==") || Take("=")) return WithValue(std::move(key), Operator::kIn);
    if (Take("in")) return WithValues(std::move(key), Operator::kIn);
    if (Take("notin")) return WithValues(std::move(key), Operator::kNotIn);
    return Failure("=, ==, !=, in or notin");
  }

  StatusOr<Requirement> WithValue(std::string key, Operator op) {
    SkipBlanks();
    return Requirement{std::move(key), op, {std::string(TakeWord())}};  // May be empty.
  }

  StatusOr<Requirement> WithValues(std::string key, Operator op) {
    Requirement requirement{std::move(key), op, {}};
    SkipBlanks();
    if (!Take("(")) return Failure("(");
    do {
      SkipBlanks();
      requirement.values.emplace_back(TakeWord());
      SkipBlanks();
    } while (Take(","));
    if (!Take(")")) return Failure("a comma or )");
    std::sort(requirement.values.begin(), requirement.values.end());
    return requirement;
  }

  StatusOr<std::string> Word(const char* what) {
    SkipBlanks();
    const std::string_view word = TakeWord();
    if (word.empty()) return Failure(what);
    return std::string(word);
  }

  std::string_view TakeWord() {
    const size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::string_view("-_./").find(text_[at_]) != text_.npos)) {
      ++at_;
    }
    return text_.substr(start, at_ - start);
  }

  bool Take(std::string_view wanted) {
    if (text_.substr(at_, wanted.size()) != wanted) return false;
    at_ += wanted.size();
    return true;
  }

  void SkipBlanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Status Failure(const char* wanted) const {
    return InvalidArgument("label selector \"{}\": expected {} at position {}", text_, wanted, at_);
  }

  std::string_view text_;
  size_t at_ = 0;
};

StatusOr<Requirement> FromExpression(const Json& expression, size_t index) {
  Requirement requirement{.key = StringAt(expression, "/key")};
  const std::string op = StringAt(expression, "/operator");
  const std::pair<const char*, Operator> known[] = {{"In", Operator::kIn},
                                                    {"NotIn", Operator::kNotIn},
                                                    {"Exists", Operator::kExists},
                                                    {"DoesNotExist", Operator::kDoesNotExist}};
  const auto* found =
      std::find_if(std::begin(known), std::end(known), [&](auto& k) { return op == k.first; });
  if (requirement.key.empty() || found == std::end(known)) {
    return InvalidArgument(
        "matchExpressions[{}]: wants a key and In, NotIn, Exists or DoesNotExist, got \"{}\" "
        "\"{}\"",
        index, requirement.key, op);
  }
  requirement.op = found->second;
  if (const Json* values = Find(expression, "/values"); values != nullptr && values->is_array()) {
    for (const Json& value : *values) {
      if (value.is_string()) requirement.values.push_back(value.get<std::string>());
    }
  }
  const bool wants_values = requirement.op == Operator::kIn || requirement.op == Operator::kNotIn;
  if (wants_values == requirement.values.empty()) {
    return InvalidArgument("matchExpressions[{}].values: {} for {}", index,
                           wants_values ? "missing" : "must be empty", op);
  }
  std::sort(requirement.values.begin(), requirement.values.end());
  return requirement;
}

}  // namespace

LabelSelector LabelSelector::Of(const StringMap& labels) {
  LabelSelector selector;
  for (const auto& [key, value] : labels) {
    selector.requirements_.push_back({key, Operator::kIn, {value}});
  }
  return selector;
}

StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  PACELINE_ASSIGN_OR_RETURN(selector.requirements_, Parser(text).Run());
  return selector;
}

StatusOr<LabelSelector> LabelSelector::FromJson(const Json& selector) {
  LabelSelector result;
  if (const Json* labels = kube::Find(selector, "/matchLabels"); labels != nullptr) {
    if (!labels->is_object()) return InvalidArgument("matchLabels: not an object");
    for (const auto& [key, value] : labels->items()) {
      if (!value.is_string()) return InvalidArgument("matchLabels.{}: not a string", key);
      result.requirements_.push_back({key, Operator::kIn, {value.get<std::string>()}});
    }
  }
  if (const Json* all = kube::Find(selector, "/matchExpressions"); all != nullptr) {
    if (!all->is_array()) return InvalidArgument("matchExpressions: not an array");
    for (size_t i = 0; i < all->size(); ++i) {
      PACELINE_ASSIGN_OR_RETURN(Requirement requirement, FromExpression((*all)[i], i));
      result.requirements_.push_back(std::move(requirement));
    }
  }
  return result;
}

bool LabelSelector::Matches(const StringMap& labels) const {
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& requirement) { return Holds(requirement, labels); });
}

std::string LabelSelector::ToString() const {
  std::vector<std::string> parts;
  for (const Requirement& requirement : requirements_) parts.push_back(Write(requirement));
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace paceline::kube
