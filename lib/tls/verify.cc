#include "lib/tls/verify.h"

#include "lib/tls/openssl.h"

namespace paceline::tls {
namespace {

using CertificateStack =
    std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * stack) { sk_X509_free(stack); })>;

}  // namespace

Status VerifyCertificate(const std::string& chain, const std::string& authorities,
                         const std::string& dns_name, CalendarTime now) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<X509Certificate> given, ParseCertificates(chain));
  PACELINE_ASSIGN_OR_RETURN(const std::vector<X509Certificate> trusted,
                            ParseCertificates(authorities));
  const X509Store store(X509_STORE_new());
  for (const X509Certificate& authority : trusted)
    X509_STORE_add_cert(store.get(), authority.get());
  const CertificateStack between(sk_X509_new_null());
  for (size_t at = 1; at < given.size(); ++at) sk_X509_push(between.get(), given[at].get());

  const X509StoreContext context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store.get(), given.front().get(), between.get()) != 1)
    return OpenSslError("cannot verify");
  X509_VERIFY_PARAM* const want = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(want, now.time_since_epoch().count());
  X509_VERIFY_PARAM_set_hostflags(
      want, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS);
  X509_VERIFY_PARAM_set1_host(want, dns_name.data(), dns_name.size());
  if (X509_verify_cert(context.get()) == 1) return OkStatus();
  const int error = X509_STORE_CTX_get_error(context.get());
  if (error == X509_V_ERR_HOSTNAME_MISMATCH)
    return PermissionDenied("certificate does not name {}", dns_name);
  return PermissionDenied("certificate is refused: {}", X509_verify_cert_error_string(error));
}

Status CheckCredential(const Credential& credential) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<X509Certificate> certificates,
                            ParseCertificates(credential.certificate));
  PACELINE_ASSIGN_OR_RETURN(const Key key, ParseKey(credential.key));
  if (X509_check_private_key(certificates.front().get(), key.get()) == 1) return OkStatus();
  return InvalidArgument("{}", Message(OpenSslError("key and certificate are no pair")));
}

}  // namespace paceline::tls
