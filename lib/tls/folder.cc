#include "lib/tls/folder.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "lib/tls/certificate.h"
#include "lib/tls/verify.h"

namespace paceline::tls {
namespace {

StatusOr<std::string> Read(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotFound("cannot read {}: {}", path, std::strerror(errno));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

StatusOr<TlsFiles> ReadTlsFolder(const TlsFolder& folder) {
  TlsFiles files;
  PACELINE_ASSIGN_OR_RETURN(files.credential.certificate, Read(folder.certificate_file()));
  PACELINE_ASSIGN_OR_RETURN(files.credential.key, Read(folder.key_file()));
  PACELINE_ASSIGN_OR_RETURN(files.authorities, Read(folder.authorities_file()));
  PACELINE_RETURN_IF_ERROR(
      Annotate(ReadCertificate(files.credential.certificate).status(), folder.certificate_file()));
  PACELINE_RETURN_IF_ERROR(
      Annotate(ReadCertificate(files.authorities).status(), folder.authorities_file()));
  PACELINE_RETURN_IF_ERROR(Annotate(CheckCredential(files.credential), folder.key_file()));
  return files;
}

}  // namespace paceline::tls
