#include "cli/commands/fetch/ways.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/fetch/download.h"
#include "lib/base/check.h"
#include "lib/kube/core/api_error.h"

namespace paceline::commands {
namespace {

Status NoWay(const std::vector<Way>& ways, const std::vector<Status>& errors) {
  if (errors.size() == 1) return Annotate(errors.front(), ways.front().name);
  std::string all;
  for (size_t i = 0; i < errors.size(); ++i)
    all += fmt::format("{}{}: {}", i == 0 ? "" : "; ", ways[i].name, Message(errors[i]));
  StatusCode code = errors.back().code();
  for (const Status& error : errors) {
    if (MayComeLater(error)) code = error.code();
  }
  return MakeStatus(code, "allow one of these ways, or name another with --url: " + all);
}

}  // namespace

bool MayAnotherWayHelp(const Status& error) {
  if (error.ok()) return false;
  const std::optional<kube::ApiError> answer = kube::ApiErrorOf(error);
  if (!answer) return true;
  switch (answer->code) {
    case 400:
    case 401:
    case 409:
    case 416:
    case 429:
      return false;
    case 404:  // Of an object that the API server names, or of whoever stands before it.
      return answer->kind.empty();
    default:
      return true;
  }
}

Ways::Ways(std::vector<Way> ways, Say say)
    : ways_(std::move(ways)), say_(std::move(say)), said_(ways_.size()) {
  PACELINE_CHECK(!ways_.empty(), "there is no way");
}

void Ways::SayOnce(size_t way, const std::string& text) {
  if (said_[way] == text) return;
  said_[way] = text;
  say_(text);
}

StatusOr<std::string> Ways::Send(const kube::Request& request) {
  std::vector<Status> errors(ways_.size());
  for (size_t tried = 0; tried < ways_.size(); ++tried) {
    const size_t way = (current_ + tried) % ways_.size();
    StatusOr<std::string> answer = ways_[way].send(request);
    if (!MayAnotherWayHelp(answer.status())) {
      current_ = way;
      if (answer.ok()) SayOnce(way, "it goes " + ways_[way].name);
      return answer;
    }
    errors[way] = answer.status();
    // The last word on it is the caller's, which may be long in coming.
    if (ways_.size() > 1 || MayComeLater(answer.status()))
      SayOnce(way, fmt::format("nothing comes {}: {}", ways_[way].name, Message(answer.status())));
  }
  return NoWay(ways_, errors);
}

}  // namespace paceline::commands
