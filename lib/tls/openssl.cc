#include "lib/tls/openssl.h"

#include <ctime>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>

namespace paceline::tls {
namespace {

using GeneralNames = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

Bio MemoryBio(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Never asks the terminal for a password.
int NoPassword(char*, int, int, void*) { return 0; }

}  // namespace

Status OpenSslError(const std::string& what) {
  const unsigned long code = ERR_get_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return Internal("{}: {}", what, reason == nullptr ? "no reason given" : reason);
}

StatusOr<std::vector<X509Certificate>> ParseCertificates(const std::string& pem) {
  const Bio bio = MemoryBio(pem);
  std::vector<X509Certificate> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const unsigned long end = ERR_peek_last_error();
  const bool is_end = ERR_GET_REASON(end) == PEM_R_NO_START_LINE;
  const Status why = OpenSslError("certificate cannot be read");
  if (certificates.empty() || !is_end) return InvalidArgument("{}", Message(why));
  return certificates;
}

StatusOr<Key> ParseKey(const std::string& pem) {
  const Bio bio = MemoryBio(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr)
    return InvalidArgument("{}", Message(OpenSslError("private key cannot be read")));
  return key;
}

std::vector<std::string> DnsNames(const X509* certificate) {
  std::vector<std::string> found;
  const GeneralNames names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int at = 0; names != nullptr && at < sk_GENERAL_NAME_num(names.get()); ++at) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), at);
    if (name->type != GEN_DNS) continue;
    found.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return found;
}

CalendarTime ToCalendarTime(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return CalendarTime(std::chrono::seconds(timegm(&parts)));
}

std::string ToText(CalendarTime time) {
  const std::time_t seconds = time.time_since_epoch().count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts));
}

}  // namespace paceline::tls
