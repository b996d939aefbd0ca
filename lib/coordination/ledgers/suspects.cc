#include "lib/coordination/ledgers/suspects.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace paceline::coordination {

using protocol::SampleRange;

namespace {

// A convicted range falls into so many parts at most: the more, the fewer workers a sample that
// kills has to kill, and the more steps are small.
constexpr uint64_t kPartsMax = 16;

}  // namespace

const Suspects::Accusation* Suspects::FindAccusation(const Suspect& suspect, WorkerId worker) {
  const auto found = std::find_if(suspect.accusations.begin(), suspect.accusations.end(),
                                  [&](const Accusation& one) { return one.worker == worker; });
  return found == suspect.accusations.end() ? nullptr : &*found;
}

bool Suspects::HasAccused(const Suspect& suspect, WorkerId worker) {
  return FindAccusation(suspect, worker) != nullptr;
}

bool Suspects::IsTrusted(const Suspect& suspect) {
  return suspect.is_part || std::any_of(suspect.accusations.begin(), suspect.accusations.end(),
                                        [](const Accusation& one) { return one.counts; });
}

// Those who have not accused it. Before an accuser is known to be well, its accusers instead: an
// ill push of another would look like an ill model.
bool Suspects::IsFor(const Suspect& suspect, WorkerId worker) {
  return HasAccused(suspect, worker) != IsTrusted(suspect);
}

bool Suspects::IsLastFor(const Suspect& suspect, WorkerId worker) {
  return !HasAccused(suspect, worker) &&
         std::any_of(suspect.accusations.begin(), suspect.accusations.end(),
                     [](const Accusation& one) { return one.counts_at_last; });
}

bool Suspects::IsConvicted(const Suspect& suspect) {
  size_t counting = 0, well = 0;  // Each worker has one word at most.
  for (const Accusation& one : suspect.accusations) {
    if (one.counts) ++counting;
    if (one.counts || one.counts_at_last) ++well;
  }
  if (counting >= (suspect.is_part ? 1u : 2u)) return true;
  // Nobody else's push will ever make the other one's word count.
  const size_t believed = suspect.is_part ? well : counting;
  return suspect.is_last && (well >= 2 || (believed > 0 && suspect.accusations.size() >= 2));
}

bool Suspects::IsAccusedAlone(const Suspect& suspect) {
  return std::any_of(suspect.accusations.begin(), suspect.accusations.end(),
                     [](const Accusation& one) { return !one.is_of_more; });
}

const Suspects::Suspect* Suspects::At(const SampleRange& range) const {
  const auto epoch = epochs_.find(range.epoch);
  if (epoch == epochs_.end()) return nullptr;
  const auto found = epoch->second.find(range.begin);
  return found == epoch->second.end() || found->second.end != range.end ? nullptr : &found->second;
}

void Suspects::Accuse(const SampleRange& range, WorkerId worker, Word word) {
  if (range.size() == 0) return;
  Epoch& epoch = epochs_[range.epoch];
  const auto after = epoch.lower_bound(range.end);
  const bool overlaps = after != epoch.begin() && std::prev(after)->second.end > range.begin;
  // Leases are cut along suspects; one from before they were ones may not be, and says less.
  if (overlaps && At(range) == nullptr) return;
  Suspect& suspect = epoch[range.begin];
  suspect.end = range.end;
  Accusation accusation{worker};
  if (const Accusation* before = FindAccusation(suspect, worker)) accusation = *before;
  accusation.is_of_more = false;
  accusation.counts = accusation.counts || word == Word::kCounts;
  accusation.counts_at_last = accusation.counts_at_last || word == Word::kUnlessModel;
  // The latest one comes last.
  std::erase_if(suspect.accusations, [&](const Accusation& one) { return one.worker == worker; });
  suspect.accusations.push_back(accusation);
  ++changes_;
}

void Suspects::Acquit(const SampleRange& range) {
  const auto found = epochs_.find(range.epoch);
  if (found == epochs_.end()) return;
  Epoch& epoch = found->second;
  auto at = epoch.lower_bound(range.begin);
  for (; at != epoch.end() && at->second.end <= range.end; ++changes_) at = epoch.erase(at);
  if (epoch.empty()) epochs_.erase(found);
}

void Suspects::Forget(uint64_t epoch, uint64_t position) {
  const auto found = epochs_.find(epoch);
  if (found == epochs_.end()) return;
  const auto after = found->second.upper_bound(position);
  if (after == found->second.begin() || std::prev(after)->second.end <= position) return;
  found->second.erase(std::prev(after));
  ++changes_;
  if (found->second.empty()) epochs_.erase(found);
}

void Suspects::Believe(WorkerId worker) {
  for (auto& [number, epoch] : epochs_) {
    for (auto& [begin, suspect] : epoch) {
      for (Accusation& one : suspect.accusations) {
        if (one.worker == worker && !std::exchange(one.counts, true)) ++changes_;
      }
    }
  }
}

void Suspects::Doubt(WorkerId worker) {
  for (auto& [number, epoch] : epochs_) {
    for (auto& [begin, suspect] : epoch) {
      for (Accusation& one : suspect.accusations) {
        if (one.worker == worker) one.counts = one.counts_at_last = false;
      }
    }
  }
  ++changes_;
}

void Suspects::SetLast(bool is_last) {
  for (auto& [number, epoch] : epochs_) {
    for (auto& [begin, suspect] : epoch)
      if (std::exchange(suspect.is_last, is_last) != is_last) ++changes_;
  }
}

bool Suspects::IsExcuse(const SampleRange& range, WorkerId worker) const {
  const Suspect* suspect = At(range);
  if (suspect == nullptr) return false;
  return suspect->is_part ||
         std::any_of(suspect->accusations.begin(), suspect->accusations.end(),
                     [&](const Accusation& one) {
                       const bool is_word = one.counts || (suspect->is_last && one.counts_at_last);
                       return one.worker != worker && is_word;
                     });
}

std::vector<SampleRange> Suspects::Convict(const std::function<bool(const SampleRange&)>& is_free) {
  std::vector<SampleRange> poisoned;
  std::vector<SampleRange> convicted;
  for (const auto& [number, epoch] : epochs_) {
    for (const auto& [begin, suspect] : epoch) {
      const SampleRange range{number, begin, suspect.end};
      if (IsConvicted(suspect) && is_free(range)) convicted.push_back(range);
    }
  }
  changes_ += convicted.size();
  for (const SampleRange& range : convicted) {
    Epoch& epoch = epochs_[range.epoch];
    Suspect& suspect = epoch[range.begin];
    if (!IsAccusedAlone(suspect)) {
      suspect.is_part = true;
      suspect.accusations.clear();
      continue;
    }
    epoch.erase(range.begin);
    if (range.size() == 1) {
      poisoned.push_back(range);
      if (epoch.empty()) epochs_.erase(range.epoch);
      continue;
    }
    const uint64_t parts = std::min(kPartsMax, range.size());
    for (uint64_t part = 0; part < parts; ++part) {
      const uint64_t begin = range.begin + range.size() * part / parts;
      epoch[begin] = {.end = range.begin + range.size() * (part + 1) / parts,
                      .is_part = true,
                      .accusations = {}};
    }
  }
  return poisoned;
}

bool Suspects::MayTry(const Suspect& suspect, WorkerId worker, const std::vector<WorkerId>& others,
                      Whose whose) {
  const auto is_for_another = [&](const auto& is_for) {
    return std::any_of(others.begin(), others.end(),
                       [&](WorkerId other) { return other != worker && is_for(suspect, other); });
  };
  const bool is_for_it = IsFor(suspect, worker);
  switch (whose) {
    case Whose::kNew:
      return is_for_it && IsTrusted(suspect);
    case Whose::kLast:
      return IsLastFor(suspect, worker);
    case Whose::kAny:
      return !is_for_another(IsLastFor) && (is_for_it || !is_for_another(IsFor));
  }
  return false;
}

SampleRange Suspects::Cut(Epoch& epoch, uint64_t number, uint64_t begin, uint64_t samples) {
  Suspect& suspect = epoch.at(begin);
  const uint64_t cut = begin + std::min(samples, suspect.end - begin);
  if (cut < suspect.end) {
    for (Accusation& one : suspect.accusations) one.is_of_more = true;
    epoch[cut] = suspect;
    suspect.end = cut;
  }
  return {number, begin, cut};
}

std::optional<SampleRange> Suspects::Pick(WorkerId worker, const std::vector<WorkerId>& others,
                                          uint64_t samples, Whose whose,
                                          const std::function<bool(const SampleRange&)>& is_free) {
  for (auto& [number, epoch] : epochs_) {
    for (const auto& [begin, suspect] : epoch) {
      if (MayTry(suspect, worker, others, whose) && is_free({number, begin, suspect.end}))
        return Cut(epoch, number, begin, samples);
    }
  }
  return std::nullopt;
}

SampleRange Suspects::Unsuspected(const SampleRange& range) const {
  const auto found = epochs_.find(range.epoch);
  if (found == epochs_.end()) return range;
  SampleRange clear = range;
  for (const auto& [begin, suspect] : found->second) {
    if (suspect.end <= clear.begin) continue;
    if (begin > clear.begin) {
      clear.end = std::min(clear.end, begin);
      break;
    }
    clear.begin = std::min(suspect.end, clear.end);
  }
  return clear;
}

std::string Suspects::Describe() const {
  std::string text;
  for (const auto& [number, epoch] : epochs_) {
    for (const auto& [begin, suspect] : epoch) {
      text += fmt::format(" {}:{}-{}{}{}", number, begin, suspect.end, suspect.is_part ? "p" : "",
                          suspect.is_last ? "l" : "");
      for (const Accusation& one : suspect.accusations) {
        text += fmt::format("{}{}", one.worker, one.counts ? "!" : "?");
        if (one.counts_at_last && !one.counts) text += "l";
        if (one.is_of_more) text += "+";
      }
    }
  }
  return text.empty() ? text : "|suspects" + text;
}

}  // namespace paceline::coordination
