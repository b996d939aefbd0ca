// Defines HttpStream: bytes to and from one client, plain or through TLS, without ever waiting.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "lib/telemetry/listening_socket.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX...
struct ssl_st;      // ...and SSL.

namespace paceline::telemetry {

// How a call ended. What it could not do yet it can do when the socket is ready as it says.
enum class Moved { kSome, kAwaitsInput, kAwaitsOutput, kEnded };

// One owner at a time. kEnded: the client closed, or broke the rules, or the network failed.
class HttpStream {
 public:
  // With a context: TLS, which begins with Handshake.
  HttpStream(OwnedSocket socket, ssl_ctx_st* context);

  Moved Handshake();
  Moved Read(std::span<char> into, size_t& count);
  Moved Write(std::string_view bytes, size_t& count);
  // Says that nothing more will be written; what the client still sends can be read.
  void EndWriting();
  // Reads from the socket what nobody wants to know.
  Moved Discard();

  int descriptor() const { return socket_.get(); }
  const ssl_st* session() const { return session_.get(); }  // Null without TLS.

 private:
  struct FreeSession {
    void operator()(ssl_st* session) const;
  };
  Moved Judge(int result);

  OwnedSocket socket_;
  std::unique_ptr<ssl_st, FreeSession> session_;
};

}  // namespace paceline::telemetry
