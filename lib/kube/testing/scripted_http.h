// Defines ScriptedHttp: an HTTP server that answers as a test says, for faults that a real server
// cannot be made to show on demand. It knows nothing of Kubernetes.
//
// Example:
//   ScriptedHttp server([](const ScriptedRequest& request, ScriptedConnection& connection) {
//     connection.Send("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length:
//     0\r\n\r\n");
//   });
//   config.server = server.url();
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lib/base/time.h"

namespace paceline::kube::testing {

struct ScriptedRequest {
  std::string method;
  std::string target;                          // Path and query.
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
  int number = 0;  // From 1, over all connections.
};

// Of one request, on the thread of its connection.
class ScriptedConnection {
 public:
  explicit ScriptedConnection(int socket) : socket_(socket) {}
  // The bytes as they stand, in one write. Whether they went out.
  bool Send(std::string_view bytes);
  // A whole answer with Content-Length.
  bool Answer(int code, std::string_view body, const std::string& more_headers = "");
  // The head of a chunked answer, and its chunks.
  bool StartChunks();
  bool Chunk(std::string_view bytes);
  bool EndChunks();
  // Waits until the client closes, at most that long. Whether it did.
  bool WaitForClose(Duration deadline);
  // Closes after this request.
  void Close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

 private:
  int socket_;
  bool is_closed_ = false;
};

// Plain HTTP on a free port of 127.0.0.1; a thread per connection. Destruction closes them all.
class ScriptedHttp {
 public:
  using Script = std::function<void(const ScriptedRequest&, ScriptedConnection&)>;
  explicit ScriptedHttp(Script script);
  ~ScriptedHttp();
  ScriptedHttp(const ScriptedHttp&) = delete;
  ScriptedHttp& operator=(const ScriptedHttp&) = delete;

  std::string url() const;  // "http://127.0.0.1:PORT"
  int requests() const { return count_; }
  int connections() const { return accepted_; }

 private:
  void Accept();
  void Serve(int socket);

  Script script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> count_ = 0;
  std::atomic<int> accepted_ = 0;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::list<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace paceline::kube::testing
