// Reads from the API server's audit log what the operator, or another user, has written or read.
#pragma once

#include <string>
#include <vector>

namespace paceline::operator_test {

class Writes {
 public:
  // `user`: a part of the name that the server knows it by.
  explicit Writes(std::string audit_log, std::string user = "paceline-operator")
      : audit_log_(std::move(audit_log)), user_(std::move(user)) {}

  size_t LinesSoFar() const;
  // "patch /apis/...", for each request of the operator after that line that was to change
  // something. Its Leases are left out, or are the only thing that is left in.
  std::vector<std::string> Since(size_t line) const { return Read(line, Kind::kWrite); }
  std::vector<std::string> LeasesSince(size_t line) const { return Read(line, Kind::kLease); }
  size_t PodsAskedFor(size_t line) const;  // How many of those were to make a pod.
  // "get /apis/...", for each that was to change nothing. Watches, which end at any time, are left
  // out.
  std::vector<std::string> ReadsSince(size_t line) const { return Read(line, Kind::kRead); }
  // Until five seconds have gone by without such a request.
  bool WaitForQuiet(double timeout_seconds) const;
  // Until the operator has renewed its Lease, after that line, as often as it does in `seconds`: a
  // time that has passed, and in which it was at work. False if it takes much longer.
  bool WaitForRenewals(size_t line, double seconds) const;

 private:
  enum class Kind { kWrite, kRead, kLease, kLeaseRead };
  static Kind KindOf(const std::string& verb, const std::string& uri);
  std::vector<std::string> Read(size_t line, Kind kind) const;

  std::string audit_log_;
  std::string user_;
};

}  // namespace paceline::operator_test
