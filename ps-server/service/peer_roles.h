// Defines PeerRoles and Peer: who may open which stream, and speak for whom on it.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/tls/identity.h"

namespace grpc {
class AuthContext;
class CallbackServerContext;
}  // namespace grpc

namespace paceline::ps {

// Who opened a stream, as far as the connection proves it. A value.
class Peer {
 public:
  Peer() = default;  // Could be anybody: the connection proves nothing.
  Peer(tls::Identity identity, std::string name, std::string address)
      : identity_(identity), name_(std::move(name)), address_(std::move(address)) {}

  // PermissionDenied, naming both, if the peer has proved to be another process than `claimed`,
  // which is one of its job. Logs it: the peer may not be able to.
  Status Check(const tls::Identity& claimed) const;

  const std::optional<tls::Identity>& identity() const { return identity_; }
  // Whether it has proved to be a worker of a job with groups.
  bool IsOfGroup() const { return identity_ && !identity_->group.empty(); }

 private:
  std::optional<tls::Identity> identity_;
  std::string name_;     // In its certificate.
  std::string address_;  // For the log.
};

// A value; thread-safe.
class PeerRoles {
 public:
  // Everybody may do everything: connections without TLS prove nothing.
  PeerRoles() = default;
  // Peers are who their certificates name: a process of this job.
  PeerRoles(std::string job, std::string job_namespace);

  // The peer of the call's connection. PermissionDenied, naming who it is and who is welcome, if
  // its certificate names no process of `welcome` roles. Logs it, too.
  StatusOr<Peer> Check(const grpc::CallbackServerContext& context,
                       std::initializer_list<tls::Role> welcome) const;

 private:
  struct Job {
    std::string name;
    std::string name_space;
  };
  std::optional<Job> job_;
};

}  // namespace paceline::ps
