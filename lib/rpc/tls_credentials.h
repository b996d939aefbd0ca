// Defines TlsCredentials: what both ends of gRPC connections show and demand of each other.
#pragma once

#include <memory>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/tls/folder.h"

namespace grpc {
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace paceline::rpc {

struct TlsCredentials {
  // The server must show a certificate of an authority in the folder that names
  // ChannelOptions::peer_names.
  std::shared_ptr<grpc::ChannelCredentials> channel;
  // The client must show a certificate of an authority in the folder; which names are welcome is
  // the services' affair.
  std::shared_ptr<grpc::ServerCredentials> server;
};

// Of the files in `folder`, which are looked at again every `refresh_period` (whole seconds, at
// least one): new connections use what they hold then, old ones stay. Errors are ReadTlsFolder's.
StatusOr<TlsCredentials> LoadTlsCredentials(const tls::TlsFolder& folder,
                                            Duration refresh_period = Seconds(10));

}  // namespace paceline::rpc
