// Defines PeerRoles: who may open which stream.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/tls/role.h"

namespace grpc {
class AuthContext;
class CallbackServerContext;
}  // namespace grpc

namespace paceline::ps {

// A value; thread-safe.
class PeerRoles {
 public:
  // Everybody may do everything: connections without TLS prove nothing.
  PeerRoles() = default;
  // Peers are who their certificates name: a role of this job.
  PeerRoles(std::string job, std::string job_namespace);

  // PermissionDenied, naming who the peer is and who is welcome, if the certificate of the call's
  // connection names none of `welcome`. Logs it: the peer may not be able to.
  Status Check(const grpc::CallbackServerContext& context,
               std::initializer_list<tls::Role> welcome) const;

 private:
  struct Job {
    std::string name;
    std::string name_space;
  };
  std::optional<Job> job_;
};

}  // namespace paceline::ps
