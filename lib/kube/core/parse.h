// Reads what an API server sends. Of its bytes little is usually wanted, and building what is not
// costs more than receiving it.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(Json pods, ParseMessage(body, Selection({"/metadata", "/status"})));
#pragma once

#include <memory>
#include <string_view>

#include "lib/base/status.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/selection.h"

namespace paceline::kube {

// For many messages: keeps memory in proportion to the largest of them, up to a bound. One owner at
// a time. Movable.
class MessageParser {
 public:
  MessageParser();
  MessageParser(MessageParser&&) noexcept;
  MessageParser& operator=(MessageParser&&) noexcept;
  ~MessageParser();

  // An object, a list or an event of a watch. Of each object (for a list: each of `items`, for an
  // event: `object`) what is selected, and never metadata.managedFields. InvalidArgument with the
  // position and what was expected.
  StatusOr<Json> Parse(std::string_view text, const Selection& selection = {});

 private:
  struct State;  // simdjson's own.
  std::unique_ptr<State> state_;
};

// For a single one.
StatusOr<Json> ParseMessage(std::string_view text, const Selection& selection = {});

}  // namespace paceline::kube
