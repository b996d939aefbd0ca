// Owners of OpenSSL's objects, and its errors as our Status. Not for other folders.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"

namespace paceline::tls {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using BigNumber = std::unique_ptr<BIGNUM, Freed<BN_clear_free>>;  // Some are keys.
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using X509Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using X509Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using X509StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

// Internal, "WHAT: " and the oldest reason that OpenSSL keeps for this thread; forgets all of them.
Status OpenSslError(const std::string& what);

// All certificates of a PEM text, in order; at least one. InvalidArgument otherwise.
StatusOr<std::vector<X509Certificate>> ParseCertificates(const std::string& pem);
// InvalidArgument if it is no private key.
StatusOr<Key> ParseKey(const std::string& pem);

// Subject alternative names of kind DNS.
std::vector<std::string> DnsNames(const X509* certificate);

CalendarTime ToCalendarTime(const ASN1_TIME* time);
std::string ToText(CalendarTime time);  // "2026-01-31T23:59:59Z".

}  // namespace paceline::tls
