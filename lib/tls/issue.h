// Defines Issuer: an authority of one's own, and what it vouches for.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Issuer issuer, Issuer::Make("job digits", ten_years));
//   PACELINE_ASSIGN_OR_RETURN(const Credential worker,
//                             issuer.Issue({"worker.digits.default"}, ninety_days));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"
#include "lib/tls/credential.h"

namespace paceline::tls {

// An authority, ready to issue certificates. Immutable, but used by one thread at a time. Movable.
class Issuer {
 public:
  // A new key on P-256 and a self-signed certificate that may sign others, but no further
  // authorities. `common_name` is for people: 1 to 64 bytes. InvalidArgument for another length or
  // a validity that ends before it begins.
  static StatusOr<Issuer> Make(const std::string& common_name, const Validity& validity);
  // Of an earlier one's credential. InvalidArgument for one that cannot be read, or whose key and
  // certificate are no pair.
  static StatusOr<Issuer> Of(const Credential& authority);
  Issuer(Issuer&&) noexcept;
  Issuer& operator=(Issuer&&) noexcept;
  ~Issuer();

  const Credential& credential() const;

  // A new key on P-256 and a certificate for both ends of a connection; it names `dns_names` as
  // subject alternative names and nothing else.
  //
  // InvalidArgument for no name or one that is no DNS name in lower case, and for a validity that
  // ends before it begins or after the authority's.
  StatusOr<Credential> Issue(const std::vector<std::string>& dns_names,
                             const Validity& validity) const;

 private:
  struct State;  // OpenSSL's own.
  explicit Issuer(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

// Both for a single use. Errors as above.
StatusOr<Credential> MakeAuthority(const std::string& common_name, const Validity& validity);
StatusOr<Credential> IssueCertificate(const Credential& authority,
                                      const std::vector<std::string>& dns_names,
                                      const Validity& validity);

}  // namespace paceline::tls
