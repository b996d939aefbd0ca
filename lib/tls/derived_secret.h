// Defines DeriveSecret and Authenticate: small secrets that need not be kept, and proofs made with
// them.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::tls {

// 256 bits as 64 hexadecimal digits, which `seed` and `purpose` determine and which tell nothing of
// the seed or of what it gives for other purposes: HKDF with SHA-256 (RFC 5869, no salt, `purpose`
// as info). InvalidArgument for a seed of fewer than kSeedBytesMin bytes.
StatusOr<std::string> DeriveSecret(const std::string& seed, const std::string& purpose);

// HMAC-SHA256 (RFC 2104) of `text` with the key `secret`, as 64 hexadecimal digits: whoever lacks
// the secret can neither make nor change what this vouches for. Empty, which vouches for nothing,
// if OpenSSL cannot.
std::string Authenticate(const std::string& secret, const std::string& text);

// Whether they are the same; takes as long for any two of one length.
bool AreSameSecrets(const std::string& one, const std::string& other);

}  // namespace paceline::tls
