#include "lib/files/segments.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "lib/files/disk.h"

namespace paceline::files {
namespace {

StatusOr<std::string> ReadWhole(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return FileError("cannot read", path, errno);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What the segment says at its beginning of all before it.
std::string SnapshotOf(std::string_view segment) {
  std::string lines;
  while (segment.starts_with(kSnapshotLine)) {
    const size_t end = std::min(segment.find('\n'), segment.size() - 1) + 1;
    lines += segment.substr(kSnapshotLine.size(), end - kSnapshotLine.size());
    segment.remove_prefix(end);
  }
  return lines;
}

// A process that was killed may have left the last line without its end.
void EndLine(std::string& text) {
  if (!text.empty() && text.back() != '\n') text.erase(text.rfind('\n') + 1);
}

}  // namespace

std::string SegmentPath(const std::string& path, uint64_t number) {
  return number == 0 ? path : fmt::format("{}.{}", path, number);
}

std::vector<uint64_t> SegmentNumbers(const std::string& path) {
  std::vector<uint64_t> numbers;
  const std::string begin = std::filesystem::path(path).filename().string() + ".";
  std::error_code error;
  for (std::filesystem::directory_iterator at(ParentOf(path), error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(begin)) continue;
    uint64_t number = 0;
    const char* const last = name.data() + name.size();
    const auto [read, wrong] = std::from_chars(name.data() + begin.size(), last, number);
    if (wrong == std::errc() && read == last && number > 0) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

StatusOr<std::string> ReadSegments(const std::string& path) {
  PACELINE_ASSIGN_OR_RETURN(std::string text, ReadWhole(path));
  uint64_t expected = 1;
  for (const uint64_t number : SegmentNumbers(path)) {
    EndLine(text);
    StatusOr<std::string> segment = ReadWhole(SegmentPath(path, number));
    // It was the oldest, and a run that goes on has removed it meanwhile.
    if (segment.status().code() == StatusCode::kNotFound) continue;
    PACELINE_RETURN_IF_ERROR(segment.status());
    if (number != expected)
      text += fmt::format("gap {}..{}\n{}", expected, number - 1, SnapshotOf(*segment));
    text += *segment;
    expected = number + 1;
  }
  return text;
}

}  // namespace paceline::files
