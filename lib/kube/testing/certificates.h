// Makes certificates for a test's servers and users with the openssl program.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::kube::testing {

// In `folder`: ca.crt and ca.key; <name>.crt and <name>.key of what it issued; sa.key and sa.pub.
class CertificateAuthority {
 public:
  static StatusOr<CertificateAuthority> Make(const std::string& folder);

  // subject: "/O=system:masters/CN=admin". alternative_names: "DNS:localhost,IP:127.0.0.1", empty
  // for clients.
  Status Issue(const std::string& name, const std::string& subject,
               const std::string& alternative_names) const;
  // A key pair for service-account tokens.
  Status MakeServiceAccountKey() const;

  std::string Certificate(const std::string& name) const { return folder_ + "/" + name + ".crt"; }
  std::string Key(const std::string& name) const { return folder_ + "/" + name + ".key"; }

 private:
  explicit CertificateAuthority(std::string folder) : folder_(std::move(folder)) {}
  Status OpenSsl(const std::vector<std::string>& arguments) const;

  std::string folder_;
};

}  // namespace paceline::kube::testing
