#include "lib/telemetry/http_stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

namespace paceline::telemetry {
namespace {

bool IsForNow(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

int Length(size_t bytes) { return static_cast<int>(std::min<size_t>(bytes, INT_MAX)); }

}  // namespace

void HttpStream::FreeSession::operator()(ssl_st* session) const { SSL_free(session); }

HttpStream::HttpStream(OwnedSocket socket, ssl_ctx_st* context) : socket_(std::move(socket)) {
  if (context == nullptr) return;
  session_.reset(SSL_new(context));
  if (session_ == nullptr) return;
  SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_set_fd(session_.get(), socket_.get());
}

Moved HttpStream::Judge(int result) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Moved::kAwaitsInput;
    case SSL_ERROR_WANT_WRITE:
      return Moved::kAwaitsOutput;
    default:
      return Moved::kEnded;
  }
}

Moved HttpStream::Handshake() {
  if (session_ == nullptr) return Moved::kEnded;
  ERR_clear_error();
  const int result = SSL_accept(session_.get());
  return result == 1 ? Moved::kSome : Judge(result);
}

Moved HttpStream::Read(std::span<char> into, size_t& count) {
  count = 0;
  if (session_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_read(session_.get(), into.data(), Length(into.size()));
    if (result <= 0) return Judge(result);
    count = static_cast<size_t>(result);
    return Moved::kSome;
  }
  const ssize_t result = recv(socket_.get(), into.data(), into.size(), 0);
  if (result < 0 && IsForNow(errno)) return Moved::kAwaitsInput;
  if (result <= 0) return Moved::kEnded;
  count = static_cast<size_t>(result);
  return Moved::kSome;
}

Moved HttpStream::Write(std::string_view bytes, size_t& count) {
  count = 0;
  if (session_ != nullptr) {
    ERR_clear_error();
    const int result = SSL_write(session_.get(), bytes.data(), Length(bytes.size()));
    if (result <= 0) return Judge(result);
    count = static_cast<size_t>(result);
    return Moved::kSome;
  }
  const ssize_t result = send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (result < 0 && IsForNow(errno)) return Moved::kAwaitsOutput;
  if (result < 0) return Moved::kEnded;
  count = static_cast<size_t>(result);
  return Moved::kSome;
}

void HttpStream::EndWriting() {
  if (session_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
  shutdown(socket_.get(), SHUT_WR);
}

Moved HttpStream::Discard() {
  std::array<char, 16 << 10> unwanted;
  const ssize_t result = recv(socket_.get(), unwanted.data(), unwanted.size(), 0);
  if (result > 0) return Moved::kSome;
  return result < 0 && IsForNow(errno) ? Moved::kAwaitsInput : Moved::kEnded;
}

}  // namespace paceline::telemetry
