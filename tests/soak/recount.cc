#include "tests/soak/recount.h"

#include <compare>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace paceline::soak {
namespace {

struct Generation {
  uint64_t start = 0, counter = 0;
  friend auto operator<=>(const Generation&, const Generation&) = default;
};
struct PushName {
  uint64_t worker = 0, incarnation = 0, sequence = 0;
  friend auto operator<=>(const PushName&, const PushName&) = default;
};
struct Range {
  uint64_t epoch = 0, begin = 0, end = 0;
};
// A version that a history goes on from.
struct From {
  Generation generation;
  uint64_t version = 0;
};
struct History {
  std::optional<From> from;
  uint64_t first = 0;      // Version that it began on.
  uint64_t published = 0;  // Newest that all shards had.
  std::map<uint64_t, std::vector<PushName>> commits;
};

std::vector<std::string> Split(std::string_view text, char by) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(by);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

// "word name=value name=value".
struct Line {
  explicit Line(std::string_view text) {
    for (const std::string& part : Split(text, ' ')) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos) {
        word = part;
      } else {
        fields[part.substr(0, equals)] = part.substr(equals + 1);
      }
    }
  }
  uint64_t Number(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
  }
  Generation generation() const { return {Number("start"), Number("counter")}; }

  std::string word;
  std::map<std::string, std::string> fields;
};

std::vector<uint64_t> Numbers(const std::string& text) {
  std::vector<uint64_t> numbers;
  std::string digits;
  for (const char c : text + ":") {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (!digits.empty()) {
      numbers.push_back(std::strtoull(digits.c_str(), nullptr, 10));
      digits.clear();
    }
  }
  return numbers;
}

std::string Name(const Generation& generation, const PushName& push) {
  return fmt::format("push {} of worker {}, incarnation {}, generation {}.{}", push.sequence,
                     push.worker, push.incarnation, generation.start, generation.counter);
}

class Counting {
 public:
  void ReadPush(const Line& line) {
    const PushName name{line.Number("worker"), line.Number("incarnation"), line.Number("sequence")};
    std::vector<Range> ranges;
    uint64_t samples = 0;
    for (const std::string& one :
         Split(line.fields.contains("ranges") ? line.fields.at("ranges") : "", ',')) {
      const std::vector<uint64_t> numbers = Numbers(one);
      if (numbers.size() != 3) continue;
      ranges.push_back({numbers[0], numbers[1], numbers[2]});
      samples += numbers[2] - numbers[1];
    }
    if (samples != line.Number("samples")) {
      Problem("{} has {} samples and says {}", Name(line.generation(), name), samples,
              line.Number("samples"));
    }
    if (!pushes_.emplace(std::pair(line.generation(), name), std::move(ranges)).second)
      Problem("{} was made twice", Name(line.generation(), name));
  }

  void ReadCommit(const Line& line) {
    const Generation generation = line.generation();
    const uint64_t version = line.Number("version");
    if (line.word == "configured") return Configure(line);
    if (line.word == "checkpoint") {
      checkpoints_[line.fields.at("name")] = {generation, version};
      return;
    }
    const auto history = histories_.find(generation);
    if (history == histories_.end()) {
      return Problem("generation {}.{} was never configured", generation.start, generation.counter);
    }
    if (line.word == "published") {
      history->second.published = version;
    } else if (line.word == "commit") {
      std::vector<PushName>& commit = history->second.commits[version];
      if (!commit.empty()) Problem("version {} was committed twice", version);
      for (const std::string& one : Split(line.fields.at("pushes"), ',')) {
        const std::vector<uint64_t> numbers = Numbers(one);
        if (numbers.size() == 3) commit.push_back({numbers[0], numbers[1], numbers[2]});
      }
    }
  }

  Recount Finish() {
    if (newest_) Count(*newest_, histories_.at(*newest_).published);
    for (const auto& [epoch, positions] : counted_) {
      EpochCount& count = recount_.epochs[epoch];
      for (const auto& [position, times] : positions) {
        ++count.counted;
        count.doubled += times > 1 ? 1 : 0;
        recount_.samples += times;
      }
    }
    return std::move(recount_);
  }

 private:
  template <class... Values>
  void Problem(fmt::format_string<Values...> words, Values&&... values) {
    recount_.problems.push_back(fmt::format(words, std::forward<Values>(values)...));
  }

  void Configure(const Line& line) {
    const Generation generation = line.generation();
    History history{.from = {},
                    .first = line.Number("version"),
                    .published = line.Number("version"),
                    .commits = {}};
    if (const std::string& from = line.fields.at("from"); from != "-") {
      if (const auto found = checkpoints_.find(from); found != checkpoints_.end()) {
        history.from = found->second;
        if (history.from->version != history.first) {
          Problem("checkpoint {} is of version {} and gone on from at {}", from,
                  history.from->version, history.first);
        }
      } else {
        Problem("checkpoint {} is gone on from and was never written", from);
      }
    }
    if (newest_) {
      ++recount_.roll_backs;
      const uint64_t reached = histories_.at(*newest_).published;
      recount_.steps_lost += reached > history.first ? reached - history.first : 0;
    }
    histories_[generation] = std::move(history);
    newest_ = generation;
  }

  // What led to that version of that generation.
  void Count(const Generation& generation, uint64_t until) {
    const History& history = histories_.at(generation);
    if (history.from) Count(history.from->generation, history.from->version);
    for (uint64_t version = history.first + 1; version <= until; ++version) {
      const auto commit = history.commits.find(version);
      if (commit == history.commits.end()) {
        Problem("version {} of generation {}.{} was published and never committed", version,
                generation.start, generation.counter);
        continue;
      }
      ++recount_.versions;
      for (const PushName& push : commit->second) Count(generation, push);
    }
  }

  void Count(const Generation& generation, const PushName& push) {
    const auto found = pushes_.find(std::pair(generation, push));
    if (found == pushes_.end())
      return Problem("{} was committed and no worker made it", Name(generation, push));
    for (const Range& range : found->second) {
      for (uint64_t at = range.begin; at < range.end; ++at) ++counted_[range.epoch][at];
    }
  }

  std::map<std::pair<Generation, PushName>, std::vector<Range>> pushes_;
  std::map<Generation, History> histories_;
  std::map<std::string, From> checkpoints_;
  std::optional<Generation> newest_;
  std::map<uint64_t, std::map<uint64_t, uint64_t>> counted_;  // By epoch and position.
  Recount recount_;
};

}  // namespace

Recount CountAgain(std::string_view commits, const std::vector<std::string>& pushes) {
  Counting counting;
  for (const std::string& text : pushes) {
    for (const std::string& line : Split(text, '\n')) counting.ReadPush(Line(line));
  }
  for (const std::string& line : Split(commits, '\n')) counting.ReadCommit(Line(line));
  return counting.Finish();
}

std::vector<std::string> Judge(const Recount& recount, uint64_t epochs, uint64_t train_samples,
                               const std::map<uint64_t, uint64_t>& discarded) {
  std::vector<std::string> wrong = recount.problems;
  for (uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto found = recount.epochs.find(epoch);
    const EpochCount count = found == recount.epochs.end() ? EpochCount() : found->second;
    const uint64_t left_out = discarded.contains(epoch) ? discarded.at(epoch) : 0;
    if (count.doubled > 0)
      wrong.push_back(fmt::format("epoch {}: {} samples count twice", epoch, count.doubled));
    if (count.counted + left_out != train_samples) {
      wrong.push_back(
          fmt::format("epoch {}: {} samples count and {} were reported as left out, want {}", epoch,
                      count.counted, left_out, train_samples));
    }
  }
  for (const auto& [epoch, count] : recount.epochs) {
    if (epoch >= epochs && count.counted > 0)
      wrong.push_back(fmt::format("epoch {} counts, and the job ended before it", epoch));
  }
  return wrong;
}

}  // namespace paceline::soak
