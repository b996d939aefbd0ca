#include "lib/tls/certificate.h"

#include <openssl/asn1.h>

#include "lib/tls/openssl.h"

namespace paceline::tls {
namespace {

std::string ToText(const X509_NAME* name) {
  const Bio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

}  // namespace

StatusOr<Certificate> ReadCertificate(const std::string& pem) {
  PACELINE_ASSIGN_OR_RETURN(const std::vector<X509Certificate> all, ParseCertificates(pem));
  X509* const first = all.front().get();
  return Certificate{
      .subject = ToText(X509_get_subject_name(first)),
      .issuer = ToText(X509_get_issuer_name(first)),
      .dns_names = DnsNames(first),
      .validity = {ToCalendarTime(X509_get0_notBefore(first)),
                   ToCalendarTime(X509_get0_notAfter(first))},
      .is_authority = X509_check_ca(first) == 1,
  };
}

bool NeedsRenewal(const Validity& validity, CalendarTime now, double fraction) {
  if (now < validity.not_before) return true;
  const double whole = static_cast<double>((validity.not_after - validity.not_before).count());
  return static_cast<double>((now - validity.not_before).count()) >= fraction * whole;
}

bool AreSameAuthority(const std::string& pem, const std::string& other_pem) {
  const auto one = ParseCertificates(pem), other = ParseCertificates(other_pem);
  if (!one.ok() || !other.ok() || one->size() != 1 || other->size() != 1) return false;
  const X509* const first = one->front().get();
  const X509* const second = other->front().get();
  return X509_NAME_cmp(X509_get_subject_name(first), X509_get_subject_name(second)) == 0 &&
         EVP_PKEY_eq(X509_get0_pubkey(first), X509_get0_pubkey(second)) == 1;
}

}  // namespace paceline::tls
