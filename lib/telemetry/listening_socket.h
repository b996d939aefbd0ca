// Sockets of servers: listening, accepting, and who is at the other end.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.h"

namespace paceline::telemetry {

// Closes its descriptor. Movable.
class OwnedSocket {
 public:
  OwnedSocket() = default;
  explicit OwnedSocket(int descriptor) : descriptor_(descriptor) {}
  OwnedSocket(OwnedSocket&& other) noexcept;
  OwnedSocket& operator=(OwnedSocket&& other) noexcept;
  ~OwnedSocket();

  int get() const { return descriptor_; }
  int Release();  // The caller closes it.
  void Close();

 private:
  int descriptor_ = -1;
};

// Listens on `host`, an address or a name, without blocking; 0.0.0.0 and :: are every address of
// both families. Unavailable, naming the address and why, if it cannot. No other process can listen
// there beside it.
StatusOr<OwnedSocket> ListenOn(const std::string& host, int port);

int PortOf(const OwnedSocket& socket);

struct Accepted {
  OwnedSocket socket;  // Not blocking.
  // The machine at the other end: an IPv4 address, or the first 64 bits of an IPv6 one, of which
  // one machine may have all.
  std::string peer;
  int error = 0;  // errno, where there is no socket.
};

Accepted Accept(const OwnedSocket& listening);

// Of Accepted::error: the client still waits, and this process, or its machine, has no room.
bool IsOutOfDescriptors(int error);

}  // namespace paceline::telemetry
