// Defines ChildProcess and Line: processes of a bench's own, forked before any thread exists, and
// how they talk to the one that measures.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>

#include <sys/types.h>

namespace paceline::bench {

// One end of a conversation. Messages are plain structs, known to both ends by their order. If the
// other end is gone, the process exits: there is nothing left to measure.
class Line {
 public:
  explicit Line(int descriptor) : descriptor_(descriptor) {}
  ~Line();
  Line(Line&& other) noexcept;
  Line& operator=(Line&&) = delete;

  template <class T>
  void Send(const T& message) {
    static_assert(std::is_trivially_copyable_v<T>);
    SendBytes(&message, sizeof(T));
  }
  template <class T>
  T Receive() {
    static_assert(std::is_trivially_copyable_v<T>);
    T message;
    ReceiveBytes(&message, sizeof(T));
    return message;
  }

 private:
  void SendBytes(const void* bytes, size_t size);
  void ReceiveBytes(void* bytes, size_t size);

  int descriptor_;
};

// Runs `body` in a process of its own, killed at the end. The caller must have no thread.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<void(Line&)>& body);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  Line& line() { return line_; }

 private:
  struct Forked {
    pid_t pid;
    int descriptor;
  };
  explicit ChildProcess(Forked forked) : pid_(forked.pid), line_(forked.descriptor) {}
  static Forked Fork(const std::function<void(Line&)>& body);

  pid_t pid_;
  Line line_;
};

// CPU-seconds of this process so far, user and system.
double CpuSeconds();

// Of the host's steady clock, which its processes share.
double SteadySeconds();

// Says why and exits.
[[noreturn]] void Fail(const char* what);

}  // namespace paceline::bench
