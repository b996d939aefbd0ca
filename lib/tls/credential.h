// Defines Credential: a certificate with its private key.
#pragma once

#include <string>

namespace paceline::tls {

// PEM text, as a Kubernetes Secret of type kubernetes.io/tls holds it in tls.crt and tls.key. The
// certificate may be followed by those that lead from it to its authority.
struct Credential {
  std::string certificate;
  std::string key;  // PKCS #8, not encrypted: whoever can read it is whom it names.
};

}  // namespace paceline::tls
