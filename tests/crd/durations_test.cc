// Times as whole numbers of seconds and as durations, on the API server and in lib/job alike.
#include <span>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/load.h"
#include "lib/kube/core/api_error.h"
#include "tests/crd/world.h"

namespace paceline::crd_test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kAnyDuration[] = {
    "/spec/sync/dbw/silenceSeconds",
    "/spec/sync/dbw/adaSyncSeconds",
    "/spec/workers/stragglerPolicy/forSeconds",
    "/spec/workers/stragglerPolicy/firstStepSeconds",
    "/spec/workers/stragglerPolicy/userCodeSeconds",
    "/spec/evaluator/periodSeconds",
    "/spec/checkpoint/periodSeconds",
    "/spec/network/transferIdleSeconds",
};
constexpr const char* kWholeSeconds[] = {
    "/spec/runPolicy/activeDeadlineSeconds",
    "/spec/runPolicy/ttlSecondsAfterFinished",
    "/spec/runPolicy/nodeLostSeconds",
    "/spec/runPolicy/schedulingPolicy/scheduleTimeoutSeconds",
};

// A job with a time at `path`.
Json JobWith(const std::string& path, const Json& value) {
  Json object = SmallJob("durations");
  object["spec"]["data"]["eval"] = "test.safetensors";
  object[Json::json_pointer(path)] = value;
  if (object["spec"].contains("checkpoint")) {
    object["spec"]["checkpoint"]["volume"] = {{"emptyDir", Json::object()}};
  }
  return object;
}

bool LibraryTakes(const Json& object) {
  return job::LoadJob(object.dump(), {}, job::Capabilities::All()).errors.empty();
}

void ExpectTaken(World& world, const std::string& path, const Json& value) {
  const Json object = JobWith(path, value);
  EXPECT_EQ(world.DryRun(object)[Json::json_pointer(path)], value) << path;
  EXPECT_TRUE(LibraryTakes(object)) << path << value;
}

void ExpectRefused(World& world, const std::string& path, const Json& value) {
  const Json object = JobWith(path, value);
  const Answer answer = world.TryCreate(object.dump(), "application/json");
  EXPECT_FALSE(answer.is_accepted) << path << value;
  EXPECT_THAT(answer.text, HasSubstr(path.substr(path.rfind('/') + 1))) << value;
  EXPECT_FALSE(LibraryTakes(object)) << path << value;
}

TEST(Durations, AreTakenAsTheyAreWritten) {
  PACELINE_CRD_WORLD(world);
  for (const char* path : kAnyDuration) {
    for (const Json& value : {Json(90), Json("90s"), Json("1h30m"), Json("1.5h"), Json("1m500ms"),
                              Json("1500ms"), Json("1s0.000001ms")}) {
      ExpectTaken(world, path, value);
    }
  }
  for (const char* path : kWholeSeconds) {
    for (const Json& value : {Json(90), Json("90s"), Json("1h30m"), Json("1.5h"), Json("2000ms"),
                              Json("1000000000s"), Json("277777h46m40s")}) {
      ExpectTaken(world, path, value);
    }
  }
  ExpectTaken(world, "/spec/runPolicy/ttlSecondsAfterFinished", "0s");
  ExpectTaken(world, "/spec/evaluator/periodSeconds", "0.000001ms");
}

TEST(Durations, OfAnotherFormOrSizeAreRefused) {
  PACELINE_CRD_WORLD(world);
  const Json never[] = {"1h 30m",
                        "-5s",
                        "+5s",
                        0.5,
                        1.5,
                        true,
                        "",
                        "90",
                        "0.5",
                        "1h\n",
                        "30m1h",
                        "1d",
                        "9999999999h",
                        "1e3s",
                        "1us",
                        ".5s",
                        "1.s",
                        Json::array({1}),
                        -1,
                        2000000000,
                        "2000000000s",
                        "1000000000s0.000001ms",
                        "1\xc2\xb5s",
                        std::string(5000, '1') + "s"};
  for (const auto& paths :
       {std::span<const char* const>(kAnyDuration), std::span<const char* const>(kWholeSeconds)}) {
    for (const char* path : paths) {
      for (const Json& value : never) ExpectRefused(world, path, value);
    }
  }
  for (const char* path : kWholeSeconds) {
    for (const char* value : {"1500ms", "1.5s", "0.0001h", "1s0.000001ms"}) {
      ExpectRefused(world, path, value);
    }
    if (std::string(path).find("ttl") == std::string::npos) {
      ExpectRefused(world, path, 0);
      ExpectRefused(world, path, "0s");
    }
  }
  for (const char* path : kAnyDuration) {
    ExpectRefused(world, path, 0);
    ExpectRefused(world, path, "0s");
    ExpectRefused(world, path, "0h0.000000ms");
  }
  for (const char* value : {"999.999999ms", "24h0.000001ms", "86401s"}) {
    ExpectRefused(world, "/spec/network/transferIdleSeconds", value);
  }
}

TEST(Durations, ThatAreRefusedAreToldWithValueAndRightForm) {
  PACELINE_CRD_WORLD(world);
  const Json object = JobWith("/spec/runPolicy/activeDeadlineSeconds", "1500ms");
  EXPECT_THAT(world.TryCreate(object.dump(), "application/json").text,
              HasSubstr("spec.runPolicy.activeDeadlineSeconds: Invalid value: \"1500ms\": must be "
                        "whole seconds, also as a duration such as 1h30m or 90s: at least 1s, at "
                        "most 1000000000s"));
}

TEST(Durations, ThatAreStoredComeBackAsTheyWereWrittenAndMayChange) {
  PACELINE_CRD_WORLD(world);
  const std::string path = "/spec/checkpoint/periodSeconds";
  const StatusOr<Json> made =
      world.client().Call(kube::Create(TrainingJobs(), JobWith(path, "1h30m")));
  ASSERT_TRUE(made.ok()) << made.status();
  const kube::ObjectKey key{"default", "durations"};
  const auto stored = [&] {
    return (*world.client().Call(kube::Get(TrainingJobs(), key)))[Json::json_pointer(path)];
  };
  EXPECT_EQ(stored(), "1h30m");
  for (const Json& value : {Json(5400), Json("90m"), Json("500ms")}) {
    const StatusOr<Json> changed = world.client().Call(kube::MergePatch(
        TrainingJobs(), key, {{"spec", {{"checkpoint", {{"periodSeconds", value}}}}}}));
    ASSERT_TRUE(changed.ok()) << changed.status();
    EXPECT_EQ(stored(), value);
  }
  const StatusOr<Json> refused = world.client().Call(kube::MergePatch(
      TrainingJobs(), key, {{"spec", {{"checkpoint", {{"periodSeconds", "1h 30m"}}}}}}));
  EXPECT_TRUE(kube::IsInvalid(refused.status())) << refused.status();
  EXPECT_EQ(stored(), "500ms");
}

}  // namespace
}  // namespace paceline::crd_test
