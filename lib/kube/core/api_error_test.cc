#include "lib/kube/core/api_error.h"

#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

TEST(ApiError, TravelsInsideAStatus) {
  const Status status = ToStatus(ParseApiError(422, R"({
    "kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
    "message": "Pod \"x\" is invalid: spec.containers: Required value",
    "details": {"name": "x", "kind": "Pod", "retryAfterSeconds": 3,
                "causes": [{"reason": "FieldValueRequired", "message": "Required value",
                            "field": "spec.containers"}]}})"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Message(status), "Invalid: Pod \"x\" is invalid: spec.containers: Required value");
  EXPECT_TRUE(IsInvalid(Annotate(status, "create")));
  const auto error = ApiErrorOf(Annotate(status, "create"));
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, 422);
  EXPECT_EQ(error->kind, "Pod");
  EXPECT_EQ(error->name, "x");
  ASSERT_EQ(error->causes.size(), 1u);
  EXPECT_EQ(error->causes[0].field, "spec.containers");
  EXPECT_EQ(error->retry_after, Seconds(3));
}

TEST(ApiError, AServerIsLeftAloneForMinutesAtMost) {
  const struct {
    const char* asked;
    Duration left_alone;
  } cases[] = {{"20", Seconds(20)},
               {"301", Seconds(300)},
               {"9223372036854775807", Seconds(300)},
               {"-5", Duration::zero()}};
  for (const auto& c : cases) {
    const std::string body =
        std::string(R"({"kind": "Status", "code": 429, "details": {"retryAfterSeconds": )") +
        c.asked + "}}";
    EXPECT_EQ(RetryAfter(ToStatus(ParseApiError(429, body))), c.left_alone) << c.asked;
  }
}

TEST(ApiError, HasOneCanonicalCodeForEachAnswer) {
  const struct {
    int code;
    const char* reason;
    bool (*is)(const Status&);
    StatusCode canonical;
  } cases[] = {
      {401, "Unauthorized", IsUnauthorized, StatusCode::kUnauthenticated},
      {403, "Forbidden", IsForbidden, StatusCode::kPermissionDenied},
      {404, "NotFound", [](const Status& s) { return IsNotFound(s); }, StatusCode::kNotFound},
      {409, "AlreadyExists", [](const Status& s) { return IsAlreadyExists(s); },
       StatusCode::kAlreadyExists},
      {409, "Conflict", IsConflict, StatusCode::kAborted},
      {410, "Expired", IsExpired, StatusCode::kOutOfRange},
      {410, "Gone", IsExpired, StatusCode::kOutOfRange},
      {422, "Invalid", IsInvalid, StatusCode::kInvalidArgument},
      {429, "TooManyRequests", IsTooManyRequests, StatusCode::kResourceExhausted},
  };
  for (const auto& [code, reason, is, canonical] : cases) {
    const Status status = ToStatus({.code = code, .reason = reason, .message = "m"});
    EXPECT_EQ(status.code(), canonical) << reason;
    EXPECT_TRUE(is(status)) << reason;
    for (const auto& other : cases) {
      EXPECT_EQ(other.is(status), other.canonical == canonical) << reason << other.reason;
    }
  }
  EXPECT_EQ(ToStatus({.code = 500}).code(), StatusCode::kInternal);
  EXPECT_EQ(ToStatus({.code = 503}).code(), StatusCode::kUnavailable);
  EXPECT_EQ(ToStatus({.code = 504}).code(), StatusCode::kDeadlineExceeded);
}

TEST(ApiError, OurOwnErrorsAreNotTheServers) {
  EXPECT_FALSE(IsConflict(Aborted("conflict")));
  EXPECT_FALSE(ApiErrorOf(Unavailable("refused")).has_value());
  EXPECT_FALSE(ApiErrorOf(OkStatus()).has_value());
}

TEST(ApiError, ABodyThatIsNoStatusGivesItsFirstLine) {
  const ApiError error = ParseApiError(502, "<html>bad gateway\nmore");
  EXPECT_EQ(error.code, 502);
  EXPECT_EQ(error.reason, "InternalError");
  EXPECT_EQ(error.message, "<html>bad gateway");
  EXPECT_EQ(Message(ToStatus(ParseApiError(404, ""))), "NotFound: the API server answered 404");
}

TEST(ApiError, WhatHadToBeGoneMayBeGone) {
  EXPECT_TRUE(IgnoreNotFound(ToStatus({.code = 404, .reason = "NotFound"})).ok());
  EXPECT_FALSE(IgnoreNotFound(ToStatus({.code = 403, .reason = "Forbidden"})).ok());
  EXPECT_TRUE(IgnoreNotFound(OkStatus()).ok());
}

}  // namespace
}  // namespace paceline::kube
