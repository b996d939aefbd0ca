#include "lib/kube/core/selection.h"

#include <algorithm>

namespace paceline::kube {

Selection::Selection(std::initializer_list<std::string_view> pointers) {
  if (std::find(pointers.begin(), pointers.end(), "") != pointers.end()) return;
  for (const std::string_view pointer : pointers) Add(pointer);
}

void Selection::Add(std::string_view pointer) {
  pointer.remove_prefix(1);
  const size_t end = std::min(pointer.find('/'), pointer.size());
  const auto [member, is_new] = members_.try_emplace(Unescaped(pointer.substr(0, end)));
  if (end == pointer.size()) {
    member->second.members_.clear();
  } else if (is_new || !member->second.IsEverything()) {
    member->second.Add(pointer.substr(end));
  }
}

const Selection* Selection::Find(std::string_view member) const {
  if (IsEverything()) return this;
  const auto found = members_.find(member);
  return found == members_.end() ? nullptr : &found->second;
}

void Keep(Json& value, const Selection& selection) {
  if (selection.IsEverything()) return;
  if (value.is_array()) {
    for (Json& element : value) Keep(element, selection);
    return;
  }
  if (!value.is_object()) return;
  for (auto member = value.begin(); member != value.end();) {
    const Selection* const wanted = selection.Find(member.key());
    if (wanted != nullptr) Keep(*member, *wanted);
    member = wanted != nullptr ? std::next(member) : value.erase(member);
  }
}

}  // namespace paceline::kube
