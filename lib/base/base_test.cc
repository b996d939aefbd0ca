#include <gtest/gtest.h>

#include "lib/base/base64.h"
#include "lib/base/check.h"
#include "lib/base/ids.h"
#include "lib/base/lower_case.h"
#include "lib/base/rfc3339.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/base/version.h"

namespace paceline {
namespace {

TEST(Ids, WriteTheirKindAndNumber) {
  EXPECT_EQ(fmt::format("{} {} {} {}", WorkerId{3}, ShardId{1}, Version{7}, Generation{1, 2}),
            "w3 s1 v7 g1.2");
  EXPECT_LT(Version{7}, Version{7}.Next());
}

TEST(LowerCases, AreOfAsciiLettersAlone) {
  EXPECT_EQ(LowerCase("Content-Length@[Z"), "content-length@[z");
  EXPECT_EQ(LowerCase("\xC3\x84"), "\xC3\x84");
  EXPECT_TRUE(EqualIgnoringCase("PSPlus", "psplus"));
  EXPECT_FALSE(EqualIgnoringCase("SSP", "SSPs"));
  EXPECT_FALSE(EqualIgnoringCase("@", "`"));
}

TEST(Generations, OrderByStartThenCounter) {
  EXPECT_LT((Generation{1, 9}), (Generation{2, 0}));
  EXPECT_LT((Generation{2, 0}), (Generation{2, 1}));
}

TEST(Durations, ConvertBothWays) {
  EXPECT_EQ(Seconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_DOUBLE_EQ(ToSeconds(std::chrono::milliseconds(250)), 0.25);
}

StatusOr<int> Half(int number) {
  if (number % 2 != 0) return InvalidArgument("number is odd: {}", number);
  return number / 2;
}

StatusOr<int> Quarter(int number) {
  PACELINE_ASSIGN_OR_RETURN(const int half, Half(number));
  PACELINE_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

TEST(Statuses, TravelUpWithTheirMessage) {
  EXPECT_EQ(*Quarter(12), 3);
  const Status status = Annotate(Quarter(6).status(), "quarter");
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "quarter: number is odd: 3");
  EXPECT_TRUE(Annotate(OkStatus(), "quarter").ok());
}

TEST(Statuses, KeepTheirDetailsWhenAnnotated) {
  const Status status = WithDetail(NotFound("no such pod"), "api", "{404}");
  EXPECT_EQ(Detail(Annotate(status, "get"), "api"), "{404}");
  EXPECT_EQ(Detail(status, "other"), std::nullopt);
  EXPECT_EQ(Detail(WithDetail(OkStatus(), "api", "x"), "api"), std::nullopt);
}

TEST(TimesOfDay, AreWrittenWithSecondsOrMicroseconds) {
  const Time time = *ParseTime("2026-01-31T10:30:01.000250999+01:00");
  EXPECT_EQ(FormatTime(time), "2026-01-31T09:30:01.000250999Z");
  EXPECT_EQ(FormatTimeMicros(time), "2026-01-31T09:30:01.000250Z");
  EXPECT_EQ(FormatTime(*ParseTime("1970-01-01T00:00:00Z")), "1970-01-01T00:00:00Z");
}

TEST(CheckDeathTest, NamesTheConditionAndTheValues) {
  EXPECT_DEATH(PACELINE_CHECK(1 > 2, "index {} beyond size {}", 1, 2),
               "check failed: 1 > 2: index 1 beyond size 2");
}

TEST(Base64Test, EncodesAsTheStandardSaysAndBack) {
  // RFC 4648, section 10.
  EXPECT_EQ(EncodeBase64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(EncodeBase64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(EncodeBase64("foob"), "Zm9vYg==");
  EXPECT_EQ(DecodeBase64("Zm9vYg=="), "foob");
  EXPECT_EQ(DecodeBase64(""), "");
  EXPECT_EQ(DecodeBase64("no base64!"), std::nullopt);
}

}  // namespace
}  // namespace paceline
