// Defines VerifyCertificate and CheckCredential: what a peer will say of a certificate.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"
#include "lib/tls/credential.h"

namespace paceline::tls {

// Whether the first certificate of `chain` (PEM) leads to one of `authorities` (PEM, one or more),
// is good at `now`, and names `dns_name`. PermissionDenied, with the reason, otherwise;
// InvalidArgument if either text cannot be read.
Status VerifyCertificate(const std::string& chain, const std::string& authorities,
                         const std::string& dns_name, CalendarTime now);

// InvalidArgument if either half cannot be read, or the key is not the certificate's.
Status CheckCredential(const Credential& credential);

}  // namespace paceline::tls
