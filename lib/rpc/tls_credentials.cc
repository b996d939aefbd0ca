#include "lib/rpc/tls_credentials.h"

#include <algorithm>
#include <chrono>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "lib/rpc/library.h"

namespace paceline::rpc {
namespace {

using grpc::experimental::FileWatcherCertificateProvider;
using grpc::experimental::TlsChannelCredentialsOptions;
using grpc::experimental::TlsServerCredentialsOptions;

}  // namespace

StatusOr<TlsCredentials> LoadTlsCredentials(const tls::TlsFolder& folder, Duration refresh_period) {
  PACELINE_RETURN_IF_ERROR(tls::ReadTlsFolder(folder).status());
  KeepLibraryStarted();
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(refresh_period).count();
  const auto files = std::make_shared<FileWatcherCertificateProvider>(
      folder.key_file(), folder.certificate_file(), folder.authorities_file(),
      static_cast<unsigned>(std::max<int64_t>(1, seconds)));

  TlsChannelCredentialsOptions channel;  // Verifies the server, its name included, by default.
  channel.set_certificate_provider(files);
  channel.watch_root_certs();
  channel.watch_identity_key_cert_pairs();

  TlsServerCredentialsOptions server(files);
  server.watch_root_certs();
  server.watch_identity_key_cert_pairs();
  server.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);

  return TlsCredentials{.channel = grpc::experimental::TlsCredentials(channel),
                        .server = grpc::experimental::TlsServerCredentials(server)};
}

}  // namespace paceline::rpc
