#include "lib/worker/signals/kernel_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace paceline::worker {

std::optional<std::string> ReadKernelFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return text.str();
}

std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(" \t\n"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<uint64_t> ReadNumber(std::string_view word) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

std::optional<uint64_t> ReadNumberFile(const std::string& path) {
  const std::optional<std::string> text = ReadKernelFile(path);
  if (!text) return std::nullopt;
  const std::vector<std::string_view> words = SplitWords(*text);
  return words.size() == 1 ? ReadNumber(words[0]) : std::nullopt;
}

std::optional<uint64_t> FindNumber(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = SplitWords(text.substr(0, end));
    if (words.size() >= 2 && words[0] == key) return ReadNumber(words[1]);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace paceline::worker
