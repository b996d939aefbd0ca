#include "lib/sync/trace/trace.h"

#include <cstring>
#include <limits>

#include <gmock/gmock.h>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;

TEST(Trace, EveryEventReadsBackAsItWasWritten) {
  for (const char* line : {
           "join w3",
           "leave w3 drained",
           "leave w3 disconnected",
           "leave w3 silent",
           "leave w3 expelled",
           "push w0 #1 based-on=v0",
           "push w0 #12 based-on=v7 steps=3 samples=64 loss=0.1 norm2=2.5e-300 non-finite "
           "compute=1.000000001 wait=0.5 communication=12 injected=0.5 cpu=0.25 memory=1073741824",
           "push w0 #1 based-on=v0 loss=nan norm2=inf",
           "push w0 #1 based-on=v0 samples=4 excused empty",
           "abandon w1 #2 interrupted",
           "abandon w1 #2 out-of-memory fit=12",
           "committed v4 rate=0.1 norm2=3.5",
           "committed v4 rate=0.1 norm2=3.5 clip=0.25",
           "deadline",
           "out-of-data w2",
           "samples-returned 24",
           "quiesce stop deadline=12.5",
           "quiesce suspend deadline=0",
           "quiesce scheme-change deadline=-0.000000001",
           "spare budget=1000",
       }) {
    const StatusOr<Event> event = ParseEvent(line);
    ASSERT_TRUE(event.ok()) << line << ": " << event.status();
    EXPECT_EQ(FormatEvent(*event), line);
  }
}

TEST(Trace, EveryDecisionReadsBackAsItWasWritten) {
  for (const char* line : {
           "accumulate w0 #1 weight=64",
           "drop w0 #1 superseded",
           "drop w0 #1 too-stale",
           "drop w0 #1 non-finite",
           "drop w0 #1 worker-left",
           "drop w0 #1 quiescing",
           "commit scale=0.015625",
           "commit scale=0.3333333333333333 lr=0.25",
           "release w0 at v1",
           "release w0 at v1 exact includes=#3 samples=64 steps-max=4 lr=0.5 pacing=overlapped",
           "offer w0 v1",
           "continue w0 samples=2 pacing=keep-going",
           "interrupt w0",
           "expel w0 non-finite-repeatedly",
           "expel w0 too-slow",
           "roll-back non-finite",
           "chosen async pushes=2 reason=loss-rose gain=1.25",
       }) {
    const StatusOr<Decision> decision = ParseDecision(line);
    ASSERT_TRUE(decision.ok()) << line << ": " << decision.status();
    EXPECT_EQ(FormatDecision(*decision), line);
  }
}

TEST(Trace, DoublesKeepTheirBits) {
  for (const double value : {0.1, 1.0 / 3, std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max(), -0.0, 1e23}) {
    const auto decision =
        ParseDecision(FormatDecision(Accumulate{WorkerId(0), Sequence(1), value}));
    ASSERT_TRUE(decision.ok());
    const double read = std::get<Accumulate>(*decision).weight;
    EXPECT_EQ(std::memcmp(&read, &value, sizeof value), 0) << value;
  }
}

TEST(Trace, TimesKeepTheirNanoseconds) {
  for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{12'345'678'901}, int64_t{-1},
                              std::numeric_limits<int64_t>::max()}) {
    const StatusOr<Time> time = ParseTime(FormatTime(Time(Duration(count))));
    ASSERT_TRUE(time.ok()) << count;
    EXPECT_EQ(time->time_since_epoch().count(), count);
  }
  EXPECT_EQ(FormatTime(Time(Duration(12'345'678'901))), "@12.345678901");
}

TEST(Trace, BytesReadBackFromHexadecimal) {
  const std::string bytes("a\0\xff\n", 4);
  EXPECT_EQ(EncodeHex(bytes), "6100ff0a");
  EXPECT_EQ(*DecodeHex("6100ff0a"), bytes);
  EXPECT_FALSE(DecodeHex("6").ok());
  EXPECT_FALSE(DecodeHex("zz").ok());
}

TEST(Trace, ABadLineIsRefusedByTheFieldThatIsWrong) {
  const struct {
    const char* line;
    const char* message;
  } cases[] = {
      {"", "event is unknown"},
      {"shove w0 #1", "event is unknown: shove w0 #1"},
      {"join", "join: worker is missing"},
      {"join 3", "worker is not valid: 3"},
      {"join w3x", "worker is not valid: w3x"},
      {"join w-1", "worker is not valid: w-1"},
      {"join w3 please", "unknown field: please"},
      {"leave w3 bored", "reason is not valid: bored"},
      {"push w0 #1", "push: based-on is missing"},
      {"push w0 #1 based-on=v0 samples=-1", "samples is not valid: -1"},
      {"push w0 #1 based-on=v0 loss=high", "loss is not valid: high"},
      {"push w0 #1 based-on=v0 wait=0.0000000001", "wait is not valid"},
      {"push w0 #1 based-on=v0 wait=9999999999999", "wait is not valid"},
      {"push w0 #1 based-on=v0 samples=1 samples=2", "unknown field: samples=2"},
  };
  for (const auto& [line, message] : cases) {
    const StatusOr<Event> event = ParseEvent(line);
    ASSERT_FALSE(event.ok()) << line;
    EXPECT_THAT(Message(event.status()), HasSubstr(message)) << line;
  }
  EXPECT_THAT(Message(ParseDecision("release w0 v1").status()), HasSubstr("want \"at v1\""));
  EXPECT_FALSE(ParseTime("12").ok());
  EXPECT_FALSE(ParseTime("@").ok());
}

}  // namespace
}  // namespace paceline::sync
