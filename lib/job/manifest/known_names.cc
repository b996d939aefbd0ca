#include "lib/job/manifest/known_names.h"

#include <algorithm>

#include "lib/base/lower_case.h"
#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"

namespace paceline::job {
namespace {

// Damerau's distance, a swap counting as one (optimal string alignment).
size_t Distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

// Collects the paths of all fields below a struct.
class PathCollector {
 public:
  PathCollector(std::string path, std::vector<std::string>& paths)
      : path_(std::move(path)), paths_(paths) {}

  template <class T>
  void operator()(std::string_view name, T&, const Note&) {
    paths_.push_back(Join(path_, name));
    Below<T>(paths_.back());
  }

 private:
  template <class T>
  void Below(const std::string& path) {
    if constexpr (kIsOptional<T>) {
      Below<typename OptionalOf<T>::Type>(path);
    } else if constexpr (kIsList<T>) {
      Below<typename ListOf<T>::Type>(path + "[]");
    } else if constexpr (!kIsLeaf<T>) {
      PathCollector below(path, paths_);
      T value;
      Fields(below, value);
    }
  }

  std::string path_;
  std::vector<std::string>& paths_;
};

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() > 64) return {};
  const std::string wanted = LowerCase(word);
  std::string_view nearest;
  size_t best = std::max<size_t>(2, wanted.size() / 3) + 1;
  for (std::string_view name : names) {
    const std::string lower = LowerCase(name);
    const bool is_shortened = wanted.size() >= 3 && lower.starts_with(wanted);
    const size_t distance = is_shortened ? 1 : Distance(wanted, lower);
    if (distance < best && distance < name.size()) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::vector<std::string> PathsEndingIn(std::string_view name) {
  std::vector<std::string> all, ending;
  JobSpec spec;
  PathCollector collector("spec", all);
  Fields(collector, spec);
  for (const std::string& path : all) {
    if (EqualIgnoringCase(path.substr(path.rfind('.') + 1), name)) ending.push_back(path);
  }
  return ending;
}

}  // namespace paceline::job
