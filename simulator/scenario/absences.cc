#include "simulator/scenario/absences.h"

#include <set>

#include <fmt/format.h>

namespace paceline::simulator {
namespace {

using job::Node;

constexpr size_t kListMax = 1000;  // Of crashes, and of outages, of one worker.
const Bounds kTime{.min = 0, .max = 1e9};
const Bounds kLater{.above = 0, .max = 1e9};

// Calls `read` with the fields of each element.
template <class Read>
void ForEach(Fields& fields, std::string_view name, Read read) {
  const Node* const list = fields.Take(name);
  if (list == nullptr) return;
  if (list->kind != Node::Kind::kList)
    return fields.Fail(name, "must be a list: got " + Describe(*list));
  if (list->elements.size() > kListMax)
    return fields.Fail(name, fmt::format("must have at most {} entries", kListMax));
  for (size_t i = 0; i < list->elements.size(); ++i) {
    Fields inner = fields.Of(list->elements[i], fmt::format("{}[{}]", fields.PathOf(name), i));
    read(inner);
    inner.Done();
  }
}

}  // namespace

void TakeAbsences(Fields& fields, uint32_t first, uint32_t count, ClusterOptions& cluster) {
  std::vector<Absence> absences;  // Of each of them; `worker` counts from 0.
  double joins = 0;
  fields.Take("joinsAtSeconds", joins, kTime);
  if (joins > 0) absences.push_back({.until_seconds = joins});
  ForEach(fields, "crashes", [&absences](Fields& inner) {
    Absence crash;
    double returns = -1;
    inner.Require("atSeconds");
    inner.Take("atSeconds", crash.from_seconds, kLater);
    inner.Take("returnsAfterSeconds", returns, kLater);
    inner.Take("silent", crash.is_silent);
    if (returns > 0) crash.until_seconds = crash.from_seconds + returns;
    if (!absences.empty() && !absences.back().until_seconds) {
      inner.Fail("", "is of a worker that is gone: the crash above it has no returnsAfterSeconds");
    } else if (!absences.empty() && crash.from_seconds <= *absences.back().until_seconds) {
      inner.Fail("atSeconds", fmt::format("must be after {} s, when the worker joins",
                                          *absences.back().until_seconds));
    }
    absences.push_back(crash);
  });
  std::vector<Outage> outages;
  ForEach(fields, "outages", [&outages](Fields& inner) {
    Outage outage;
    double seconds = 0;
    inner.Require("atSeconds");
    inner.Require("forSeconds");
    inner.Take("atSeconds", outage.from_seconds, kTime);
    inner.Take("forSeconds", seconds, kLater);
    outage.until_seconds = outage.from_seconds + seconds;
    if (!outages.empty() && outage.from_seconds < outages.back().until_seconds)
      inner.Fail("atSeconds", "must not be before the end of the outage above it");
    outages.push_back(outage);
  });
  for (uint32_t i = first; i < first + count; ++i) {
    for (Absence absence : absences) {
      absence.worker = i;
      cluster.absences.push_back(absence);
    }
    for (Outage outage : outages) {
      outage.worker = i;
      cluster.outages.push_back(outage);
    }
  }
}

bool IsAnybodyLeft(const ClusterOptions& cluster) {
  std::set<uint32_t> gone;
  for (const Absence& absence : cluster.absences) {
    if (!absence.until_seconds) gone.insert(absence.worker);
  }
  return gone.size() < cluster.workers.size();
}

}  // namespace paceline::simulator
