#include "lib/job/manifest/encode.h"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "lib/job/manifest/fields.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/values/duration_text.h"

namespace paceline::job {
namespace {

// Fills every field with a value of its type, absent ones now and then left absent.
class RandomFiller {
 public:
  explicit RandomFiller(std::mt19937_64& random) : random_(random) {}

  template <class T>
  void operator()(std::string_view, T& value, const Note& note) {
    Fill(value);
    if constexpr (std::is_same_v<T, double>) {
      if (note.is_duration) value = SecondsOf(RandomDuration());
    }
  }

 private:
  template <class T>
  void Fill(T& value) {
    if constexpr (kIsOptional<T>) {
      value.reset();
      if (random_() % 3 != 0) Fill(value.emplace());
    } else if constexpr (kIsList<T>) {
      value.resize(random_() % 3);
      for (auto& element : value) Fill(element);
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(random_() % Words(T{}).size());
    } else if constexpr (std::is_same_v<T, int64_t>) {
      value = static_cast<int64_t>(random_());
    } else if constexpr (std::is_same_v<T, double>) {
      value = static_cast<double>(static_cast<int64_t>(random_())) / 7.0;
    } else if constexpr (std::is_same_v<T, bool>) {
      value = random_() % 2 == 0;
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = Word();
    } else if constexpr (std::is_same_v<T, Time>) {
      value = Time(Duration(static_cast<int64_t>(random_() % 4'000'000'000'000'000'000ull)));
    } else if constexpr (std::is_same_v<T, QuorumField>) {
      value = QuorumField{};
      if (random_() % 2 == 0) value.word = static_cast<QuorumWord>(random_() % 2);
      if (!value.word) value.workers = static_cast<int64_t>(random_());
    } else if constexpr (std::is_same_v<T, StringMap>) {
      value.clear();
      for (uint64_t i = random_() % 3; i > 0; --i) value[Word()] = Word();
    } else if constexpr (std::is_same_v<T, Node>) {
      value = Node(Node::Kind::kMap);
      value["spec"] = Node(Node::Kind::kMap);
      value["spec"][Word()] = Node::Integer(static_cast<int64_t>(random_()));
    } else {
      Fields(*this, value);
    }
  }

  // From a nanosecond to years, whole seconds now and then.
  Duration RandomDuration() {
    const Duration most = random_() % 2 == 0 ? kDurationMax : Duration(std::chrono::seconds(2));
    const Duration duration(1 + static_cast<int64_t>(random_() % most.count()));
    return random_() % 4 == 0 ? std::chrono::ceil<std::chrono::seconds>(duration) : duration;
  }

  std::string Word() {
    const char* words[] = {"", "true", "3", "a b", "\"quoted\"\n", "µ", "null", "digits"};
    return words[random_() % 8];
  }

  std::mt19937_64& random_;
};

TEST(Encode, RoundTripsEveryFieldOfRandomJobs) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    TrainingJob job;
    RandomFiller fill(random);
    Fields(fill, job);
    const Decoded back = FromJson(nlohmann::json::parse(ToJson(job).dump()));
    ASSERT_TRUE(back.errors.empty()) << ToString(back.errors[0]) << "\n" << ToJson(job).dump(1);
    ASSERT_TRUE(back.job == job) << ToJson(job).dump(1) << "\n" << ToJson(back.job).dump(1);
  }
}

TEST(Encode, WritesDefaultsAndLeavesAbsentFieldsOut) {
  const nlohmann::json json = ToJson(TrainingJob());
  EXPECT_EQ(json["spec"]["sync"]["ssp"]["staleness"], 3);
  EXPECT_EQ(json["apiVersion"], "paceline.dev/v1alpha1");
  EXPECT_FALSE(json["spec"].contains("checkpoint"));
}

TEST(Encode, WritesTimesAsWholeNumbersOfSecondsOrAsDurations) {
  TrainingJob job;
  job.spec.evaluator = Evaluator{.period_seconds = 0.5};
  job.spec.checkpoint = Checkpoint{.period_seconds = 5400};
  job.spec.network.transfer_idle_seconds = 1.25;
  job.spec.run_policy.active_deadline_seconds = 3600;
  const nlohmann::json spec = ToJson(job)["spec"];
  EXPECT_EQ(spec["evaluator"]["periodSeconds"], "500ms");
  EXPECT_TRUE(spec["checkpoint"]["periodSeconds"].is_number_integer());
  EXPECT_EQ(spec["checkpoint"]["periodSeconds"], 5400);
  EXPECT_EQ(spec["network"]["transferIdleSeconds"], "1.25s");
  EXPECT_EQ(spec["runPolicy"]["activeDeadlineSeconds"], 3600);
}

TEST(FromJsonText, RefusesWhatIsNotJson) {
  EXPECT_EQ(FromJsonText("{").errors.at(0).message, "not valid JSON");
}

// A job's programs may be of a version before the operator's that wrote it.
TEST(FromJsonText, WhatALaterVersionHasWrittenIsReadWithoutWhatItAdded) {
  nlohmann::json json = ToJson(TrainingJob());
  json["spec"]["sync"]["later"] = 1;
  json["spec"]["workers"]["alsoLater"] = {{"x", 1}};
  const Decoded decoded = FromJsonText(json.dump(), UnknownFields::kIgnore);
  EXPECT_TRUE(decoded.errors.empty());
  EXPECT_EQ(decoded.job, TrainingJob());
  EXPECT_EQ(decoded.ignored,
            (std::vector<std::string>{"spec.sync.later", "spec.workers.alsoLater"}));
  EXPECT_EQ(FromJsonText(json.dump()).errors.size(), 2u);  // As of people.
  json["spec"]["sync"]["scheme"] = "LATER";                // What would matter is no field.
  EXPECT_EQ(FromJsonText(json.dump(), UnknownFields::kIgnore).errors.size(), 1u);
}

// Of a job that is over nobody says it again.
TEST(Encode, AWorkerThatAnOlderOperatorToldOfGetsNoGroupOrIndexMadeUp) {
  const Decoded decoded = FromJson({{"apiVersion", kApiVersion},
                                    {"kind", kKind},
                                    {"metadata", {{"name", "digits"}}},
                                    {"status", {{"workers", {{{"name", "digits-worker-3"}}}}}}});
  ASSERT_EQ(decoded.job.status.workers.size(), 1u);
  const nlohmann::json worker = ToJson(decoded.job.status).at("workers").at(0);
  EXPECT_EQ(worker.at("name"), "digits-worker-3");
  EXPECT_FALSE(worker.contains("group") || worker.contains("index"));
}

}  // namespace
}  // namespace paceline::job
