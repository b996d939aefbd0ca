#include "lib/chaos/trace_table.h"

#include <charconv>
#include <string>

namespace paceline::chaos {
namespace {

constexpr double kSecondsMax = 3600;

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// What stands before the next `separator`; `rest` goes on behind it.
std::string_view Next(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

StatusOr<double> ParseSeconds(std::string_view text, int line) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || parsed != end || !(seconds >= 0 && seconds <= kSecondsMax)) {
    return InvalidArgument(
        "line {}: must be seconds from 0 to {:g}, separated by commas: got \"{}\"", line,
        kSecondsMax, std::string(text));
  }
  return seconds;
}

}  // namespace

StatusOr<TraceTable> TraceTable::Parse(std::string_view csv) {
  std::vector<double> seconds;
  uint64_t columns = 0;
  for (int line = 1; !csv.empty(); ++line) {
    const std::string_view row = Trim(Next(csv, '\n'));
    if (row.empty() || row.front() == '#') continue;
    uint64_t cells = 0;
    std::string_view rest = row;
    for (bool is_last = false; !is_last; ++cells) {
      is_last = rest.find(',') == std::string_view::npos;
      PACELINE_ASSIGN_OR_RETURN(const double cell, ParseSeconds(Trim(Next(rest, ',')), line));
      seconds.push_back(cell);
    }
    if (columns == 0) columns = cells;
    if (cells != columns) {
      return InvalidArgument("line {}: must have {} columns, as the first row: got {}", line,
                             columns, cells);
    }
  }
  if (seconds.empty()) return InvalidArgument("must have at least one row of seconds: got none");
  return TraceTable(std::move(seconds), columns);
}

}  // namespace paceline::chaos
