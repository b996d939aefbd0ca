#include "lib/tls/issue.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include "lib/tls/derive.h"
#include "lib/tls/openssl.h"

namespace paceline::tls {
namespace {

constexpr size_t kCommonNameBytesMax = 64;  // X.520's bound for a common name.
constexpr size_t kDnsNameBytesMax = 253;
constexpr size_t kDnsLabelBytesMax = 63;
constexpr int kSerialBits = 127;  // Never repeats, and fits the 20 bytes a serial number may have.

Status CheckValidity(const Validity& validity) {
  if (validity.not_before < validity.not_after) return OkStatus();
  return InvalidArgument("validity ends before it begins: from {} to {}",
                         ToText(validity.not_before), ToText(validity.not_after));
}

bool IsDnsName(const std::string& name) {
  if (name.empty() || name.size() > kDnsNameBytesMax) return false;
  size_t label = 0;
  for (size_t at = 0; at <= name.size(); ++at) {
    if (at == name.size() || name[at] == '.') {
      if (label == 0 || label > kDnsLabelBytesMax || name[at - 1] == '-') return false;
      label = 0;
      continue;
    }
    const char letter = name[at];
    const bool is_word = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
    if (!is_word && (letter != '-' || label == 0)) return false;
    ++label;
  }
  return true;
}

StatusOr<std::string> ToPem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(bio.get(), certificate) != 1) return OpenSslError("cannot write PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(size));
}

// What PEM_write_bio_PKCS8PrivateKey gives of a key on P-256, without looking its codecs up each
// time, which costs more than to make the key: PKCS #8 (RFC 5958) around RFC 5915's ECPrivateKey,
// of which only the numbers differ.
StatusOr<std::string> ToPem(EVP_PKEY* key) {
  constexpr std::string_view kBeforePrivate(
      "\x30\x81\x87\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce"
      "\x3d"
      "\x03\x01\x07\x04\x6d\x30\x6b\x02\x01\x01\x04\x20",
      36);
  constexpr std::string_view kBeforePublic("\xa1\x44\x03\x42\x00", 5);
  constexpr size_t kPrivateBytes = 32, kPublicBytes = 65;  // The point is not compressed.
  std::array<unsigned char,
             kBeforePrivate.size() + kPrivateBytes + kBeforePublic.size() + kPublicBytes>
      encoded{};
  unsigned char* at = std::copy(kBeforePrivate.begin(), kBeforePrivate.end(), encoded.data());
  BIGNUM* number = nullptr;
  const bool has_number = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1;
  const BigNumber scalar(number);
  if (!has_number || BN_bn2binpad(scalar.get(), at, kPrivateBytes) != kPrivateBytes)
    return OpenSslError("cannot write a key");
  at = std::copy(kBeforePublic.begin(), kBeforePublic.end(), at + kPrivateBytes);
  size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, at, kPublicBytes, &size) != 1 ||
      size != kPublicBytes) {
    return OpenSslError("cannot write a key");
  }
  const Bio bio(BIO_new(BIO_s_mem()));
  const int is_written = PEM_write_bio(bio.get(), PEM_STRING_PKCS8INF, "", encoded.data(),
                                       static_cast<long>(encoded.size()));
  OPENSSL_cleanse(encoded.data(), encoded.size());
  if (is_written == 0) return OpenSslError("cannot write PEM");
  char* text = nullptr;
  const long text_size = BIO_get_mem_data(bio.get(), &text);
  return std::string(text, static_cast<size_t>(text_size));
}

StatusOr<Key> NewKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return key;
}

Status SetSerial(X509* certificate) {
  const BigNumber serial(BN_new());
  if (BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
      BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return OpenSslError("cannot draw a serial number");
  }
  return OkStatus();
}

// As X509_set_pubkey, which writes the key and reads it again, by codecs that it looks up each
// time.
bool SetPublicKey(X509* certificate, EVP_PKEY* key) {
  size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size) != 1)
    return false;
  auto* const point = static_cast<unsigned char*>(OPENSSL_malloc(size));
  const bool is_set =
      point != nullptr &&
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, size, &size) == 1 &&
      X509_PUBKEY_set0_param(X509_get_X509_PUBKEY(certificate),
                             OBJ_nid2obj(NID_X9_62_id_ecPublicKey), V_ASN1_OBJECT,
                             OBJ_nid2obj(NID_X9_62_prime256v1), point, static_cast<int>(size)) == 1;
  if (!is_set) OPENSSL_free(point);  // Otherwise it is the certificate's.
  return is_set;
}

// What both kinds of certificates have in common.
StatusOr<X509Certificate> Begin(EVP_PKEY* key, const std::string& common_name,
                                const Validity& validity) {
  X509Certificate certificate(X509_new());
  PACELINE_RETURN_IF_ERROR(SetSerial(certificate.get()));
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  const auto* const text = reinterpret_cast<const unsigned char*>(common_name.data());
  const bool is_set =
      X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text,
                                 static_cast<int>(common_name.size()), -1, 0) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()),
                    validity.not_before.time_since_epoch().count()) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()),
                    validity.not_after.time_since_epoch().count()) != nullptr &&
      SetPublicKey(certificate.get(), key);
  if (!is_set) return OpenSslError("cannot fill in a certificate");
  return certificate;
}

struct Extension {
  int nid;
  std::string value;
};

Status Extend(X509* certificate, X509* issuer, const std::vector<Extension>& extensions) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const Extension& extension : extensions) {
    const X509Extension made(
        X509V3_EXT_conf_nid(nullptr, &context, extension.nid, extension.value.c_str()));
    if (made == nullptr || X509_add_ext(certificate, made.get(), -1) != 1)
      return OpenSslError("cannot extend a certificate");
  }
  return OkStatus();
}

StatusOr<std::string> SignAndWrite(X509* certificate, EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) == 0)
    return OpenSslError("cannot sign a certificate");
  return ToPem(certificate);
}

}  // namespace

struct Issuer::State {
  Key key;
  X509Certificate certificate = nullptr;
  std::string certificate_pem{};  // The same as text.
};

Issuer::Issuer(std::unique_ptr<State> state) : state_(std::move(state)) {}
Issuer::Issuer(Issuer&&) noexcept = default;
Issuer& Issuer::operator=(Issuer&&) noexcept = default;
Issuer::~Issuer() = default;
const std::string& Issuer::certificate() const { return state_->certificate_pem; }

StatusOr<Credential> Issuer::credential() const {
  PACELINE_ASSIGN_OR_RETURN(std::string key, ToPem(state_->key.get()));
  return Credential{.certificate = state_->certificate_pem, .key = std::move(key)};
}

StatusOr<Issuer> Issuer::Make(const std::string& common_name, const Validity& validity) {
  PACELINE_ASSIGN_OR_RETURN(Key key, NewKey());
  return SelfSigned({.key = std::move(key)}, common_name, validity);
}

StatusOr<Issuer> Issuer::Derive(const std::string& seed, const std::string& purpose,
                                const std::string& common_name, const Validity& validity) {
  PACELINE_ASSIGN_OR_RETURN(Key key, DeriveKey(seed, purpose));
  return SelfSigned({.key = std::move(key)}, common_name, validity);
}

StatusOr<Issuer> Issuer::SelfSigned(State state, const std::string& common_name,
                                    const Validity& validity) {
  PACELINE_RETURN_IF_ERROR(CheckValidity(validity));
  if (common_name.empty() || common_name.size() > kCommonNameBytesMax) {
    return InvalidArgument("common name has a wrong length: {} has {} bytes, want 1 to {}",
                           common_name, common_name.size(), kCommonNameBytesMax);
  }
  PACELINE_ASSIGN_OR_RETURN(state.certificate, Begin(state.key.get(), common_name, validity));
  X509* const certificate = state.certificate.get();
  if (X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1)
    return OpenSslError("cannot fill in a certificate");
  PACELINE_RETURN_IF_ERROR(Extend(certificate, certificate,
                                  {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                   {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                   {NID_subject_key_identifier, "hash"}}));
  PACELINE_ASSIGN_OR_RETURN(state.certificate_pem, SignAndWrite(certificate, state.key.get()));
  return Issuer(std::make_unique<State>(std::move(state)));
}

StatusOr<Issuer> Issuer::Of(const Credential& authority) {
  auto state = std::make_unique<State>();
  PACELINE_ASSIGN_OR_RETURN(std::vector<X509Certificate> certificates,
                            ParseCertificates(authority.certificate));
  state->certificate = std::move(certificates.front());
  PACELINE_ASSIGN_OR_RETURN(state->key, ParseKey(authority.key));
  if (X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    return InvalidArgument("{}",
                           Message(OpenSslError("authority's key and certificate are no pair")));
  }
  state->certificate_pem = authority.certificate;
  return Issuer(std::move(state));
}

StatusOr<Credential> Issuer::Issue(const std::vector<std::string>& dns_names,
                                   const Validity& validity) const {
  PACELINE_RETURN_IF_ERROR(CheckValidity(validity));
  if (dns_names.empty()) return InvalidArgument("certificate needs at least one name");
  for (const std::string& name : dns_names) {
    if (!IsDnsName(name)) return InvalidArgument("not a DNS name in lower case: \"{}\"", name);
  }
  X509* const issuer = state_->certificate.get();
  if (const CalendarTime end = ToCalendarTime(X509_get0_notAfter(issuer));
      validity.not_after > end) {
    return InvalidArgument("certificate would outlive its authority: until {}, want at most {}",
                           ToText(validity.not_after), ToText(end));
  }
  PACELINE_ASSIGN_OR_RETURN(const Key key, NewKey());
  // Names are in the extension alone: what reads common names as hosts must find nothing here.
  PACELINE_ASSIGN_OR_RETURN(const X509Certificate certificate,
                            Begin(key.get(), "paceline", validity));
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) != 1)
    return OpenSslError("cannot fill in a certificate");
  PACELINE_RETURN_IF_ERROR(
      Extend(certificate.get(), issuer,
             {{NID_basic_constraints, "critical,CA:FALSE"},
              {NID_key_usage, "critical,digitalSignature"},
              {NID_ext_key_usage, "serverAuth,clientAuth"},
              {NID_subject_key_identifier, "hash"},
              {NID_authority_key_identifier, "keyid:always"},
              {NID_subject_alt_name, fmt::format("DNS:{}", fmt::join(dns_names, ",DNS:"))}}));
  PACELINE_ASSIGN_OR_RETURN(std::string certificate_pem,
                            SignAndWrite(certificate.get(), state_->key.get()));
  PACELINE_ASSIGN_OR_RETURN(std::string key_pem, ToPem(key.get()));
  return Credential{.certificate = std::move(certificate_pem), .key = std::move(key_pem)};
}

StatusOr<std::string> MakeSeed() {
  std::string seed(kSeedBytesMin, '\0');
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(seed.data()),
                      static_cast<int>(seed.size())) != 1) {
    return OpenSslError("cannot draw a seed");
  }
  return seed;
}

StatusOr<Credential> MakeAuthority(const std::string& common_name, const Validity& validity) {
  PACELINE_ASSIGN_OR_RETURN(const Issuer issuer, Issuer::Make(common_name, validity));
  return issuer.credential();
}

StatusOr<Credential> IssueCertificate(const Credential& authority,
                                      const std::vector<std::string>& dns_names,
                                      const Validity& validity) {
  PACELINE_ASSIGN_OR_RETURN(const Issuer issuer, Issuer::Of(authority));
  return issuer.Issue(dns_names, validity);
}

}  // namespace paceline::tls
