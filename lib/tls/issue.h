// Defines MakeAuthority and IssueCertificate: an authority of one's own, and what it vouches for.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(const Credential authority, MakeAuthority("job digits", ten_years));
//   PACELINE_ASSIGN_OR_RETURN(const Credential worker,
//                             IssueCertificate(authority, {"worker.digits.default"}, ninety_days));
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"
#include "lib/tls/credential.h"

namespace paceline::tls {

// A new key on P-256 and a self-signed certificate that may sign others, but no further
// authorities. `common_name` is for people: 1 to 64 bytes. InvalidArgument for another length or a
// validity that ends before it begins.
StatusOr<Credential> MakeAuthority(const std::string& common_name, const Validity& validity);

// A new key on P-256 and a certificate for both ends of a connection; it names `dns_names` as
// subject alternative names and nothing else. `authority` is what MakeAuthority gave.
//
// InvalidArgument for no name or one that is no DNS name in lower case, for a validity that ends
// before it begins or after the authority's, and for an authority whose key and certificate are no
// pair.
StatusOr<Credential> IssueCertificate(const Credential& authority,
                                      const std::vector<std::string>& dns_names,
                                      const Validity& validity);

}  // namespace paceline::tls
