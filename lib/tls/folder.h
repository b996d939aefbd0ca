// Defines TlsFolder: where a process finds its certificate, its key and whom to trust.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/tls/credential.h"

namespace paceline::tls {

// The files of a folder, named as in a Kubernetes Secret of type kubernetes.io/tls. They are
// replaced while processes run; whoever uses them reads them again.
struct TlsFolder {
  std::string path;

  std::string certificate_file() const { return path + "/tls.crt"; }
  std::string key_file() const { return path + "/tls.key"; }
  std::string authorities_file() const { return path + "/ca.crt"; }
};

struct TlsFiles {
  Credential credential;
  std::string authorities;  // PEM; one or more.
};

// All three files as they are now. NotFound, naming the file, if one is missing; InvalidArgument,
// naming the file, if it does not hold what it should, or the key is not the certificate's.
StatusOr<TlsFiles> ReadTlsFolder(const TlsFolder& folder);

}  // namespace paceline::tls
