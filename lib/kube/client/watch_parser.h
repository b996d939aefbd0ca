// Defines WatchParser: turns the bytes of a watch into events.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/parse.h"

namespace paceline::kube {

// One JSON object a line, cut anywhere by the network. One owner at a time.
class WatchParser {
 public:
  WatchParser(Selection selection, std::function<void(WatchEvent)> event);

  // Calls `event` for each whole line. An ERROR event is the API's error; InvalidArgument for what
  // is no event; then nothing more may be fed.
  Status Feed(std::string_view bytes);

 private:
  Status Line(std::string_view line);

  const Selection selection_;
  std::function<void(WatchEvent)> event_;
  MessageParser parser_;
  std::string partial_;
};

}  // namespace paceline::kube
