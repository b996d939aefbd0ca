#include "lib/kube/testing/certificates.h"

#include <fstream>

#include "lib/kube/testing/child_process.h"

namespace paceline::kube::testing {

Status CertificateAuthority::OpenSsl(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {"openssl"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return RunProgram(command, folder_ + "/openssl.log");
}

StatusOr<CertificateAuthority> CertificateAuthority::Make(const std::string& folder) {
  CertificateAuthority authority(folder);
  PACELINE_RETURN_IF_ERROR(authority.OpenSsl(
      {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
       "30", "-subj", "/CN=test-ca", "-keyout", authority.Key("ca"), "-out",
       authority.Certificate("ca"), "-addext", "keyUsage=critical,keyCertSign,cRLSign"}));
  return authority;
}

Status CertificateAuthority::Issue(const std::string& name, const std::string& subject,
                                   const std::string& alternative_names) const {
  const std::string request = folder_ + "/" + name + ".csr";
  const std::string extensions = folder_ + "/" + name + ".ext";
  std::ofstream file(extensions);
  file << "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n";
  if (!alternative_names.empty()) file << "subjectAltName=" << alternative_names << "\n";
  file.close();
  PACELINE_RETURN_IF_ERROR(
      OpenSsl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
               subject, "-keyout", Key(name), "-out", request}));
  return OpenSsl({"x509", "-req", "-in", request, "-CA", Certificate("ca"), "-CAkey", Key("ca"),
                  "-CAcreateserial", "-days", "30", "-extfile", extensions, "-out",
                  Certificate(name)});
}

Status CertificateAuthority::MakeServiceAccountKey() const {
  PACELINE_RETURN_IF_ERROR(OpenSsl(
      {"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", folder_ + "/sa.key"}));
  return OpenSsl({"ec", "-in", folder_ + "/sa.key", "-pubout", "-out", folder_ + "/sa.pub"});
}

}  // namespace paceline::kube::testing
