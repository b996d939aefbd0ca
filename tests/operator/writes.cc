#include "tests/operator/writes.h"

#include <chrono>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "lib/base/testing/eventually.h"
#include "lib/kube/core/json.h"

namespace paceline::operator_test {

size_t Writes::LinesSoFar() const {
  std::ifstream log(audit_log_);
  size_t lines = 0;
  for (std::string line; std::getline(log, line);) ++lines;
  return lines;
}

std::vector<std::string> Writes::Read(size_t from, bool leases) const {
  std::ifstream log(audit_log_);
  std::vector<std::string> writes;
  std::string line;
  for (size_t number = 0; std::getline(log, line); ++number) {
    if (number < from) continue;
    const kube::Json entry = kube::Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (kube::StringAt(entry, "/stage") != "ResponseComplete") continue;
    const std::string user = kube::StringAt(entry, "/user/username");
    if (user.find(user_) == std::string::npos) continue;
    const std::string verb = kube::StringAt(entry, "/verb");
    if (verb == "get" || verb == "list" || verb == "watch") continue;
    const std::string uri = kube::StringAt(entry, "/requestURI");
    const bool is_lease = uri.find("/leases") != std::string::npos;
    if (is_lease == leases) writes.push_back(fmt::format("{} {}", verb, uri));
  }
  return writes;
}

bool Writes::WaitForQuiet(double timeout_seconds) const {
  return testing::Eventually(
      [&] {
        const size_t from = LinesSoFar();
        std::this_thread::sleep_for(std::chrono::seconds(5));
        return Since(from).empty();
      },
      timeout_seconds);
}

}  // namespace paceline::operator_test
