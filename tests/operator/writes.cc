#include "tests/operator/writes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "lib/base/testing/eventually.h"
#include "lib/kube/core/json.h"
#include "lib/kube/runtime/leader_elector.h"

namespace paceline::operator_test {
namespace {

constexpr std::chrono::milliseconds kLookPeriod(500);  // The log is long.

}  // namespace

size_t Writes::LinesSoFar() const {
  std::ifstream log(audit_log_);
  size_t lines = 0;
  for (std::string line; std::getline(log, line);) ++lines;
  return lines;
}

Writes::Kind Writes::KindOf(const std::string& verb, const std::string& uri) {
  const bool is_read = verb == "get" || verb == "list";
  if (uri.find("/leases") != std::string::npos) return is_read ? Kind::kLeaseRead : Kind::kLease;
  return is_read ? Kind::kRead : Kind::kWrite;
}

std::vector<std::string> Writes::Read(size_t from, Kind kind) const {
  std::ifstream log(audit_log_);
  std::vector<std::string> requests;
  std::string line;
  for (size_t number = 0; std::getline(log, line); ++number) {
    if (number < from) continue;
    const kube::Json entry = kube::Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (kube::StringAt(entry, "/stage") != "ResponseComplete") continue;
    const std::string user = kube::StringAt(entry, "/user/username");
    if (user.find(user_) == std::string::npos) continue;
    const std::string verb = kube::StringAt(entry, "/verb");
    if (verb == "watch") continue;
    const std::string uri = kube::StringAt(entry, "/requestURI");
    if (KindOf(verb, uri) == kind) requests.push_back(fmt::format("{} {}", verb, uri));
  }
  return requests;
}

size_t Writes::PodsAskedFor(size_t line) const {
  const std::vector<std::string> writes = Since(line);
  return static_cast<size_t>(std::ranges::count_if(writes, [](const std::string& write) {
    return write.starts_with("create") && write.find("/pods") != std::string::npos;
  }));
}

bool Writes::WaitForQuiet(double timeout_seconds) const {
  constexpr std::chrono::seconds kQuiet(5);
  size_t from = LinesSoFar();
  auto since = std::chrono::steady_clock::now();
  return testing::Eventually(
      [&] {
        const size_t lines = LinesSoFar();
        const auto now = std::chrono::steady_clock::now();
        if (!Since(from).empty()) {
          from = lines;
          since = now;
        }
        return now - since >= kQuiet;
      },
      timeout_seconds, kLookPeriod);
}

bool Writes::WaitForRenewals(size_t line, double seconds) const {
  // The first one may come at once.
  const double period = ToSeconds(kube::LeaderElectionOptions().retry_period);
  const auto count = static_cast<size_t>(std::ceil(seconds / period)) + 1;
  const auto renewals = [&] {
    return std::ranges::count_if(LeasesSince(line), [](const std::string& write) {
      return write.find("-leader") != std::string::npos;  // Not of the former Lease.
    });
  };
  return testing::Eventually([&] { return static_cast<size_t>(renewals()) >= count; },
                             2 * seconds + 30, kLookPeriod);
}

}  // namespace paceline::operator_test
