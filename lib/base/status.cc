#include "lib/base/status.h"

#include <absl/strings/cord.h>
#include <absl/strings/string_view.h>

namespace paceline {
namespace {

absl::string_view Abseil(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Status Annotate(const Status& status, const std::string& context) {
  if (status.ok()) return status;
  Status annotated(status.code(), context + ": " + Message(status));
  status.ForEachPayload([&annotated](absl::string_view key, const absl::Cord& detail) {
    annotated.SetPayload(key, detail);
  });
  return annotated;
}

Status WithDetail(Status status, std::string_view key, std::string_view text) {
  if (!status.ok()) status.SetPayload(Abseil(key), absl::Cord(Abseil(text)));
  return status;
}

std::optional<std::string> Detail(const Status& status, std::string_view key) {
  const auto held = status.GetPayload(Abseil(key));
  if (!held.has_value()) return std::nullopt;
  return std::string(*held);
}

}  // namespace paceline
