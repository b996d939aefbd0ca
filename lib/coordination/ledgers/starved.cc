#include "lib/coordination/ledgers/starved.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::coordination {

void Starved::FoundNone(WorkerId worker) {
  Forget(worker);
  at_[worker] = changes_;
  ++hopeless_;
  is_news_ = true;
}

void Starved::FoundSome(WorkerId worker) {
  Forget(worker);
  told_ = 0;
  is_news_ = true;
}

void Starved::Forget(WorkerId worker) {
  const auto found = at_.find(worker);
  if (found == at_.end()) return;
  if (IsHopeless(found->second)) --hopeless_;
  at_.erase(found);
}

void Starved::MayFind() {
  ++changes_;
  hopeless_ = 0;
  told_ = 0;
  is_news_ = true;
}

bool Starved::TakeNews() {
  const bool is_news = std::exchange(is_news_, false) && hopeless_ < at_.size();
  return is_news && told_++ <= at_.size();
}

std::string Starved::Describe() const {
  std::string text;
  for (const auto& [worker, at] : at_)
    text += fmt::format(" {}{}", worker, IsHopeless(at) ? "" : "?");
  return text.empty() ? text : text + (is_news_ ? " news" : "");
}

}  // namespace paceline::coordination
