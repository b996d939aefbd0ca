// Defines DeriveKey and DeriveBytes: the same private key, the same bytes from the same secret,
// each time. Not for other folders: see Issuer::Derive and DeriveSecret.
#pragma once

#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/tls/openssl.h"

namespace paceline::tls {

// A key on P-256 that `seed` and `purpose` determine, and that tells nothing of the seed or of keys
// for other purposes: 384 bits of HKDF with SHA-256 (RFC 5869, no salt, `purpose` as info), reduced
// as FIPS 186-5, A.2.1 does, so that no key is likelier than another. InvalidArgument for a seed of
// fewer than kSeedBytesMin bytes.
StatusOr<Key> DeriveKey(const std::string& seed, const std::string& purpose);

// The same derivation, not reduced: fills `bytes`. One purpose is for one kind of secret alone: of
// two lengths the shorter one is the longer one's beginning.
Status DeriveBytes(const std::string& seed, const std::string& purpose,
                   std::span<unsigned char> bytes);

}  // namespace paceline::tls
