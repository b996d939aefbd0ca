#include "lib/sync/schemes/parts.h"

#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

template <class T>
void AddIf(FieldWriter& line, std::string_view key, const std::optional<T>& value) {
  if (value) line.Add(key, *value);
}

template <class T>
void TakeIf(Fields& fields, std::string_view key, std::optional<T>& value) {
  if (T found{}; fields.Take(key, found)) value = found;
}

}  // namespace

bool ReadValue(std::string_view text, QuorumChoice& value) {
  using Rule = QuorumChoice::Rule;
  value = QuorumChoice{};
  if (text == "all") return true;
  value.rule = text == "dbw" ? Rule::kDbw : Rule::kCount;
  return text == "dbw" || ReadValue(text, value.count);
}

void AddTo(FieldWriter& line, const Parts& parts) {
  using Rule = QuorumChoice::Rule;
  if (parts.quorum && parts.quorum->rule == Rule::kCount) line.Add("quorum", parts.quorum->count);
  if (parts.quorum && parts.quorum->rule != Rule::kCount)
    line.Add("quorum", parts.quorum->rule == Rule::kDbw ? "dbw" : "all");
  AddIf(line, "reach", parts.reach);
  AddIf(line, "late", parts.late);
  AddIf(line, "window", parts.staleness);
  AddIf(line, "meanwhile", parts.meanwhile);
  AddIf(line, "modulate", parts.modulation);
  AddIf(line, "late-worker", parts.late_worker);
  AddIf(line, "scale", parts.update_scale);
  if (parts.outer) AddTo(line, *parts.outer);
}

void TakeFrom(Fields& fields, Parts& parts) {
  TakeIf(fields, "quorum", parts.quorum);
  TakeIf(fields, "reach", parts.reach);
  TakeIf(fields, "late", parts.late);
  TakeIf(fields, "window", parts.staleness);
  TakeIf(fields, "meanwhile", parts.meanwhile);
  TakeIf(fields, "modulate", parts.modulation);
  TakeIf(fields, "late-worker", parts.late_worker);
  TakeIf(fields, "scale", parts.update_scale);
  parts.outer = TakeOuter(fields);
}

}  // namespace paceline::sync
