#include "ps-server/coordinator/checkpoint_json.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;

coordination::CheckpointState SomeState() {
  coordination::CheckpointState state;
  state.version = Version(340);
  state.seed = (1ull << 63) + 5;
  state.train_samples = 100;
  state.layout =
      store::Layout::Create({{"w", {3, 4}},
                             {"bias", {}},
                             {"mean", {2}, store::DataType::kFloat32, store::TensorKind::kBuffer},
                             {"count", {1}, store::DataType::kInt64, store::TensorKind::kBuffer}})
          .value();
  state.frozen = {{"base", "bfloat16 [2]", "1f"}};
  state.leases.complete = {{100, 0}, {98, 2}};
  state.leases.open = {{2, {{0, 10}, {20, 90}}, {{10, 12}}}, {3, {}, {}}};
  state.committed_samples = 278;
  state.loss = std::numeric_limits<double>::quiet_NaN();
  state.train_accuracy = 0.1 + 0.2;
  state.nonfinite_pushes = 4;
  state.evaluation = protocol::Evaluated{Version(330), 0.5, 0.97, 360, "logits", {{"f1", 0.25}}};
  state.workers = {{WorkerId(3), 17, 278, 16, 1}};
  state.damping = {2, 0.25};
  state.course = {.epochs_max = 12, .steps_max = 0, .base_rate = 0.1 + 0.7};
  state.policy = std::string("k=3\0\xff", 5);
  state.judged = {coordination::Best{Version(320), 0.1 + 0.2}, 3, 1, 2};
  state.measure = coordination::Measure{"f1", true};
  state.kept = protocol::Evaluated{Version(320), 0.25, 0.75, 100, "", {{"f1", 0.1 + 0.2}}};
  state.seats = {{WorkerId(0), {"big", 0}}, {WorkerId(3), {"small", 1}}};
  return state;
}

TEST(CheckpointJsonTest, GivesEverythingBack) {
  const std::string text = CheckpointStateJson(SomeState());
  const auto again = ParseCheckpointState(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(CheckpointStateJson(*again), text);
  EXPECT_EQ(again->version, Version(340));
  EXPECT_EQ(again->layout.Difference(SomeState().layout), "");
  EXPECT_EQ(again->layout.hash(), SomeState().layout.hash());
  EXPECT_EQ(again->frozen, SomeState().frozen);
  EXPECT_EQ(again->leases.open[0].committed[1].second, 90u);
  EXPECT_EQ(again->train_accuracy, 0.1 + 0.2);
  EXPECT_TRUE(std::isnan(again->loss));
  EXPECT_EQ(again->policy, std::string("k=3\0\xff", 5));
  EXPECT_EQ(again->damping, SomeState().damping);
  EXPECT_EQ(again->course, SomeState().course);
  EXPECT_EQ(again->seats, SomeState().seats);
  EXPECT_EQ(again->judged, SomeState().judged);
  EXPECT_EQ(again->measure, SomeState().measure);
  ASSERT_TRUE(again->kept.has_value());
  EXPECT_EQ(again->kept->version, Version(320));
  EXPECT_EQ(again->kept->metrics, SomeState().kept->metrics);
}

TEST(CheckpointJsonTest, ReadsWhatWasSavedBeforeCoursesAndSeatsWere) {
  coordination::CheckpointState state = SomeState();
  state.course.reset();
  state.frozen.reset();
  state.judged = {};
  state.seats.clear();
  const auto again = ParseCheckpointState(CheckpointStateJson(state));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->course.has_value());
  EXPECT_FALSE(again->frozen.has_value());
  EXPECT_TRUE(again->seats.empty());
}

TEST(CheckpointJsonTest, RefusesWhatCouldNotHaveBeenSaved) {
  EXPECT_EQ(ParseCheckpointState("{").status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(Message(ParseCheckpointState("{\"format\": 1}").status()), HasSubstr("version"));
  EXPECT_THAT(Message(ParseCheckpointState("{\"format\": 9}").status()),
              HasSubstr("format 9, this version reads 1"));
  coordination::CheckpointState twice = SomeState();
  twice.leases.open[0].discarded = {{5, 12}};
  EXPECT_THAT(Message(ParseCheckpointState(CheckpointStateJson(twice)).status()),
              HasSubstr("epoch 2 has positions"));
  coordination::CheckpointState short_epoch = SomeState();
  short_epoch.leases.complete[1] = {98, 1};
  EXPECT_THAT(Message(ParseCheckpointState(CheckpointStateJson(short_epoch)).status()),
              HasSubstr("complete epoch 1 has 99 samples"));
}

// Whoever wrote it, a number that no training can have come to is not gone on from.
TEST(CheckpointJsonTest, NumbersAreInRangeAndTheErrorNamesTheirField) {
  const struct {
    const char* path;
    const char* value;
    const char* error;
  } kCases[] = {
      {"/damping/learningRateScale", "-0.5",
       "damping.learningRateScale must be more than 0: got -0.5"},
      {"/damping/learningRateScale", "0", "damping.learningRateScale must be more than 0: got 0"},
      {"/damping/learningRateScale", "1.5", "damping.learningRateScale must be at most 1: got 1.5"},
      {"/damping/learningRateScale", "null",
       "damping.learningRateScale must be a number: got null"},
      {"/damping/rollBacks", "-1", "damping.rollBacks must be a whole number: got -1"},
      {"/damping/rollBacks", "4294967296",
       "damping.rollBacks must be at most 4294967295: got 4294967296"},
      {"/version", "340.5", "version must be a whole number: got 340.5"},
      {"/version", "-1", "version must be a whole number: got -1"},
      {"/version", "\"9\"", "version must be a whole number: got \"9\""},
      {"/trainSamples", "0", "trainSamples must be at least 1: got 0"},
      {"/committedSamples", "1e30", "committedSamples must be a whole number: got 1e+30"},
      {"/nonFinitePushes", "-4", "nonFinitePushes must be a whole number: got -4"},
      {"/loss", "\"low\"", "loss must be a number or null: got \"low\""},
      {"/course/baseRate", "-1", "course.baseRate must be at least 0: got -1"},
      {"/course/epochsMax", "-1", "course.epochsMax must be a whole number: got -1"},
      {"/judged/best/value", "null", "judged.best.value must be a number: got null"},
      {"/evaluation/metrics/f1", "[]", "evaluation.metrics.f1 must be a number or null: got []"},
      {"/judged/cuts", "-2", "judged.cuts must be a whole number: got -2"},
      {"/judged/withoutBetter", "1.5", "judged.withoutBetter must be a whole number: got 1.5"},
      {"/evaluation/samples", "-7", "evaluation.samples must be a whole number: got -7"},
      {"/workers/0/steps", "-1", "workers[0].steps must be a whole number: got -1"},
      {"/workers/0/samples", "0.5", "workers[0].samples must be a whole number: got 0.5"},
      {"/seats/1/index", "-1", "seats[1].index must be a whole number: got -1"},
      {"/leases/complete/0/committed", "-1",
       "leases.complete[0].committed must be a whole number: got -1"},
      {"/leases/open/0/epoch", "-1", "leases.open[0].epoch must be a whole number: got -1"},
      {"/leases/open/0/committed/0/1", "-1",
       "leases.open[0].committed[0][1] must be a whole number: got -1"},
      {"/layout/0/shape/0", "-3", "layout[0].shape[0] must be a whole number: got -3"},
      {"/layout/0/type", "\"F16\"", "layout[0].type must be one of F32, I64: got \"F16\""},
      {"/layout/2/kind", "1", "layout[2].kind must be one of parameter, buffer: got 1"},
  };
  for (const auto& wrong : kCases) {
    nlohmann::json state = nlohmann::json::parse(CheckpointStateJson(SomeState()));
    state.at(nlohmann::json::json_pointer(wrong.path)) = "the value";
    std::string text = state.dump();
    const std::string token = "\"the value\"";
    text.replace(text.find(token), token.size(), wrong.value);
    const Status status = ParseCheckpointState(text).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << wrong.path;
    EXPECT_EQ(Message(status), wrong.error) << wrong.path << " " << wrong.value;
  }
}

}  // namespace
}  // namespace paceline::ps
