#include "lib/job/manifest/composition.h"

#include <string_view>

#include <fmt/format.h>

namespace paceline::job {

std::string CompositionOf(const Sync& sync) {
  std::string text(ToWord(sync.scheme));
  const auto add = [&](std::string_view part) { text += fmt::format("+{}", part); };
  const auto add_word = [&](const auto& part) {
    if (part) add(ToWord(*part));
  };
  if (sync.quorum && !sync.quorum->word) text += fmt::format("({})", sync.quorum->workers);
  if (sync.quorum) add_word(sync.quorum->word);
  if (sync.reach) add(fmt::format("reach={}", *sync.reach));
  add_word(sync.late);
  if (sync.staleness) add(fmt::format("staleness={}", *sync.staleness));
  add_word(sync.meanwhile);
  if (sync.modulation) add(ToWord(sync.modulation->rule));
  add_word(sync.late_worker);
  add_word(sync.update_scale);
  if (sync.outer) add("outer");
  if (sync.batch_sizing.strategy != BatchStrategy::kEqual) add(ToWord(sync.batch_sizing.strategy));
  return text;
}

}  // namespace paceline::job
