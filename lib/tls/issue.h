// Defines Issuer: an authority of one's own, and what it vouches for.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Issuer issuer, Issuer::Make("job digits", ten_years));
//   PACELINE_ASSIGN_OR_RETURN(const Credential worker,
//                             issuer.Issue({"worker-3.digits.default"}, ninety_days));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"
#include "lib/tls/credential.h"

namespace paceline::tls {

inline constexpr size_t kSeedBytesMin = 32;  // As strong as the keys that come of it.

// An authority, ready to issue certificates. Immutable, but used by one thread at a time. Movable.
class Issuer {
 public:
  // A new key on P-256 and a self-signed certificate that may sign others, but no further
  // authorities. `common_name` is for people: 1 to 64 bytes. InvalidArgument for another length or
  // a validity that ends before it begins.
  static StatusOr<Issuer> Make(const std::string& common_name, const Validity& validity);
  // As Make, but with a key that the secret `seed` (kSeedBytesMin bytes or more, random) and
  // `purpose` determine. So nothing of it has to be kept but the seed: two that are derived alike
  // are the same authority (AreSameAuthority), though not the same bytes. InvalidArgument for a
  // shorter seed, too.
  static StatusOr<Issuer> Derive(const std::string& seed, const std::string& purpose,
                                 const std::string& common_name, const Validity& validity);
  // Of an earlier one's credential. InvalidArgument for one that cannot be read, or whose key and
  // certificate are no pair.
  static StatusOr<Issuer> Of(const Credential& authority);
  Issuer(Issuer&&) noexcept;
  Issuer& operator=(Issuer&&) noexcept;
  ~Issuer();

  // PEM.
  const std::string& certificate() const;
  StatusOr<Credential> credential() const;

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
  static StatusOr<Issuer> SelfSigned(State state, const std::string& common_name,
                                     const Validity& validity);

  std::unique_ptr<State> state_;
};

// What authorities can be derived from: kSeedBytesMin random bytes.
StatusOr<std::string> MakeSeed();

// Both for a single use. Errors as above.
StatusOr<Credential> MakeAuthority(const std::string& common_name, const Validity& validity);
StatusOr<Credential> IssueCertificate(const Credential& authority,
                                      const std::vector<std::string>& dns_names,
                                      const Validity& validity);

}  // namespace paceline::tls
