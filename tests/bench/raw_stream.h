// Defines RawServer and RawStream: what the kernel alone does with the same bytes.
//
// A transfer is `bytes` sent with as few calls as the kernel takes, received into memory of the
// receiver, and answered by one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::bench {

// `address`: unix:/path or 127.0.0.1:port. One thread a connection, for the life of the process.
class RawServer {
 public:
  // Port 0 takes a free one.
  RawServer(const std::string& address, uint64_t bytes);
  const std::string& address() const { return address_; }

 private:
  std::string address_;
};

class RawStream {
 public:
  explicit RawStream(const std::string& address);
  ~RawStream();
  RawStream(RawStream&&) = delete;

  // Sends `count` transfers, at most `window` of them without an answer.
  void Send(const std::vector<std::byte>& payload, uint64_t count, uint64_t window);

 private:
  int descriptor_;
};

// The congestion control that new TCP sockets of this process get.
std::string CongestionControl();

}  // namespace paceline::bench
