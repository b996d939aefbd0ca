// Defines Certificate, what a certificate says, NeedsRenewal and AreSameAuthority.
#pragma once

#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tls/calendar_time.h"

namespace paceline::tls {

struct Certificate {
  std::string subject;                 // "CN=paceline".
  std::string issuer;                  // The subject of who signed it.
  std::vector<std::string> dns_names;  // Subject alternative names of kind DNS, in its order.
  Validity validity;
  bool is_authority = false;  // It may sign others.
};

// The first certificate of a PEM text. InvalidArgument if there is none.
StatusOr<Certificate> ReadCertificate(const std::string& pem);

// Whether `fraction` (0 to 1) of the validity is over: 2/3 leaves a third of it to try again. True
// before the validity begins too: a certificate that cannot be used yet is of no use.
bool NeedsRenewal(const Validity& validity, CalendarTime now, double fraction);

// Whether each text is one certificate, of the same subject and key: what one of them has signed,
// the other vouches for. False for what cannot be read.
bool AreSameAuthority(const std::string& pem, const std::string& other_pem);

}  // namespace paceline::tls
