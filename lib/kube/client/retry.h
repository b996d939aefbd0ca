// Decides whether a request is sent again, and when; reads what the server says about that.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/client.h"

namespace paceline::kube {

// How an attempt ended that did not succeed.
struct FailedAttempt {
  int number = 1;            // Of the attempt, from 1.
  int code = 0;              // HTTP; 0: no answer.
  bool was_sent = true;      // Some of it; without an answer it may have been carried out.
  bool is_hopeless = false;  // Certificate not trusted, bad URL...
  std::optional<Duration> retry_after;  // What the server asked for.
};

// How long to wait before the next attempt; nothing: that was the last. `chance` in [0, 1) spreads
// the waits of many clients. The caller compares with its deadline.
std::optional<Duration> RetryDelay(const FailedAttempt& attempt, bool is_repeatable,
                                   const ClientOptions& options, double chance);

// The value of a Retry-After header: whole seconds. Dates are not understood, as nobody sends them.
std::optional<Duration> ParseRetryAfter(const std::string& value);
// Of an answer's headers.
std::optional<Duration> RetryAfterOf(const std::map<std::string, std::string>& headers);

// What an answer of 300 and more says, in its body and in Retry-After.
Status ErrorOf(const Response& response);

}  // namespace paceline::kube
