// Defines ServerIdentity and SetUpClient: TLS for whoever holds an OpenSSL context, with both ends
// proving who they are.
//
// Example, with an HTTP server that lets its context be set up:
//   PACELINE_ASSIGN_OR_RETURN(auto identity, ServerIdentity::Load({"/paceline/tls"}, log_refusal));
//   PACELINE_RETURN_IF_ERROR(identity->SetUp(context));
//   ... for each request: PeerDnsNames(ssl)
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tls/folder.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX...
struct ssl_st;      // ...and SSL.

namespace paceline::tls {

// What a server shows, and whom it lets in: clients with a certificate of one of the folder's
// authorities. The files are looked at before each handshake: what was renewed is used from then
// on. Files that cannot be used leave the last good ones in place.
class ServerIdentity {
 public:
  // `refused` is told why a handshake failed, on the thread that served it; it must not block.
  // Errors are ReadTlsFolder's.
  static StatusOr<std::unique_ptr<ServerIdentity>> Load(
      const TlsFolder& folder, std::function<void(const std::string&)> refused);
  ~ServerIdentity();

  // For any number of contexts; the identity must outlive them. TLS 1.2 or newer, no resumption: a
  // session must not outlive the certificate that opened it.
  Status SetUp(ssl_ctx_st* context);

 private:
  struct Files;
  explicit ServerIdentity(std::unique_ptr<Files> files);
  std::unique_ptr<Files> files_;
};

// For one client, with the folder's files as they are now: it shows its certificate, and demands
// one that names `peer_name`, whatever address is dialled. Errors are ReadTlsFolder's.
Status SetUpClient(ssl_ctx_st* context, const TlsFolder& folder, const std::string& peer_name);

// The DNS names that the peer of an established session has proved; empty without a certificate.
std::vector<std::string> PeerDnsNames(const ssl_st* session);

// What OpenSSL met first on this thread since the last call, empty if nothing; forgets the rest
// too.
std::string TakeError();

}  // namespace paceline::tls
