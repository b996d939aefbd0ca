#include "lib/kube/client/watch_parser.h"

#include "lib/kube/core/api_error.h"

namespace paceline::kube {

WatchParser::WatchParser(Selection selection, std::function<void(WatchEvent)> event)
    : selection_(std::move(selection)), event_(std::move(event)) {}

Status WatchParser::Feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_.append(bytes);
      return OkStatus();
    }
    if (partial_.empty()) {
      PACELINE_RETURN_IF_ERROR(Line(bytes.substr(0, end)));
    } else {
      partial_.append(bytes.substr(0, end));
      const std::string line = std::move(partial_);
      partial_.clear();
      PACELINE_RETURN_IF_ERROR(Line(line));
    }
    bytes.remove_prefix(end + 1);
  }
  return OkStatus();
}

Status WatchParser::Line(std::string_view line) {
  if (line.find_first_not_of(" \r\t") == std::string_view::npos) return OkStatus();
  PACELINE_ASSIGN_OR_RETURN(Json json, parser_.Parse(line, selection_));
  const std::string type = StringAt(json, "/type");
  if (type == "ERROR") {
    PACELINE_ASSIGN_OR_RETURN(Json whole, parser_.Parse(line));
    return ToStatus(ParseApiError(whole["object"]));
  }
  WatchEvent event;
  if (type == "ADDED") {
    event.type = WatchEventType::kAdded;
  } else if (type == "MODIFIED") {
    event.type = WatchEventType::kModified;
  } else if (type == "DELETED") {
    event.type = WatchEventType::kDeleted;
  } else if (type == "BOOKMARK") {
    event.type = WatchEventType::kBookmark;
  } else {
    return InvalidArgument("watch event of an unknown type: \"{}\"", type);
  }
  const auto object = json.find("object");
  if (object == json.end()) return InvalidArgument("watch event without an object");
  event.object = std::move(*object);
  event_(std::move(event));
  return OkStatus();
}

}  // namespace paceline::kube
