#include "lib/job/manifest/values/duration_field.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::job {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Error(const Node& node, Grain grain) {
  const StatusOr<Duration> read = ReadDuration(node, grain);
  EXPECT_FALSE(read.ok()) << Describe(node);
  return read.ok() ? "" : Message(read.status());
}

TEST(ReadDuration, TakesDurationsOfTheGrain) {
  EXPECT_EQ(*ReadDuration(Node::String("1h30m"), Grain::kWholeSeconds), std::chrono::minutes(90));
  EXPECT_EQ(*ReadDuration(Node::String("2000ms"), Grain::kWholeSeconds), std::chrono::seconds(2));
  EXPECT_EQ(*ReadDuration(Node::String("1500ms"), Grain::kNanoseconds),
            std::chrono::milliseconds(1500));
  for (const char* text : {"1500ms", "1.5s", "0.0001h", "1s0.000001ms"}) {
    EXPECT_THAT(Error(Node::String(text), Grain::kWholeSeconds), HasSubstr("whole seconds"));
  }
}

TEST(ReadDuration, NamesTheValueAndHowToWriteIt) {
  EXPECT_EQ(Error(Node::Float(0.5), Grain::kNanoseconds),
            "must be whole seconds or a duration such as 1h30m, 90s or 500ms: got 0.5; write "
            "500ms");
  const struct {
    Node node;
    const char* end;
  } cases[] = {
      {Node::Float(1.5), "got 1.5; write 1.5s"},
      {Node::Float(0.0001), "got 0.0001; write 0.1ms"},
      {Node::String("90"), "got \"90\"; write 90s"},
      {Node::String("0.5"), "got \"0.5\"; write 0.5s"},
      {Node::String("1H 30M"), "got \"1H 30M\"; write 1h30m"},
  };
  for (const auto& c : cases) EXPECT_THAT(Error(c.node, Grain::kNanoseconds), EndsWith(c.end));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Node& node :
       {Node::String("-5s"), Node::String(""), Node::String("30m1h"), Node::String("soon"),
        Node::String(std::string(100'000, '9')), Node::Bool(true), Node(Node::Kind::kList),
        Node::Float(-0.5), Node::Float(1e-300), Node::Float(1e300), Node::Float(kInfinity),
        Node::Float(-kInfinity), Node::Float(std::numeric_limits<double>::quiet_NaN())}) {
    EXPECT_THAT(Error(node, Grain::kNanoseconds), Not(HasSubstr("write"))) << Describe(node);
    EXPECT_LT(Error(node, Grain::kNanoseconds).size(), 200u);
  }
  EXPECT_THAT(Error(Node::Float(0.5), Grain::kWholeSeconds), EndsWith("got 0.5"));
}

TEST(ReadDuration, SaysWhatIsTooLong) {
  for (const char* text : {"9999999999h", "1000000000s0.000001ms"}) {
    EXPECT_THAT(Error(Node::String(text), Grain::kNanoseconds),
                HasSubstr("must be at most 1000000000s: got "));
  }
}

TEST(WriteDuration, WritesNumbersWhereTheyAreWhole) {
  EXPECT_TRUE(WriteDuration(300) == Node::Integer(300));
  EXPECT_TRUE(WriteDuration(0) == Node::Integer(0));
  EXPECT_TRUE(WriteDuration(-3) == Node::Integer(-3));
  EXPECT_TRUE(WriteDuration(0.2) == Node::String("200ms"));
  EXPECT_TRUE(WriteDuration(1.5) == Node::String("1.5s"));
  for (const double refused : {-0.5, 1e300, 2e9 + 0.5}) {
    EXPECT_TRUE(WriteDuration(refused) == Node::Float(refused)) << refused;
  }
}

}  // namespace
}  // namespace paceline::job
