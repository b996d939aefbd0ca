// Makes TrainingJobs up from the schema, good and bad ones: for tests that throw many at something
// which must not fall over.
//
// Example:
//   JobFuzzer fuzzer(42);
//   for (int i = 0; i < 500; ++i) Submit(fuzzer.Next());   // the same 500 whenever the seed is 42
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::job::testing {

struct FuzzedJob {
  nlohmann::json object;           // With apiVersion, kind, a name of its own and no namespace.
  std::vector<std::string> edits;  // "spec.workers.replicas = 7", to tell what went wrong.
};

// Begins with a small valid job and edits fields at random: with values that the schema allows,
// often at its bounds, and now and then with ones that it does not (another type, an unknown word
// or field, a number out of bounds, long and odd text). Pod templates get what people write into
// them and what nobody should. Equal seeds give equal jobs. One owner at a time.
class JobFuzzer {
 public:
  explicit JobFuzzer(uint64_t seed);

  FuzzedJob Next();

 private:
  using Schema = nlohmann::ordered_json;
  struct Field {
    std::vector<std::string> path;  // "[]" is the first element of a list.
    const Schema* schema = nullptr;
  };

  void Collect(const Schema& schema, const std::vector<std::string>& path);
  uint64_t Below(uint64_t limit);
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  nlohmann::json Base();
  void Edit(FuzzedJob& job);
  nlohmann::json Allowed(const Schema& schema);
  nlohmann::json Number(const Schema& schema);
  nlohmann::json Seconds(const Schema& schema);
  std::string Text(const Schema& schema);
  nlohmann::json Hostile();
  nlohmann::json PodTemplate();

  uint64_t state_;
  uint64_t seed_;
  int count_ = 0;
  Schema root_;
  std::vector<Field> fields_;
};

}  // namespace paceline::job::testing
