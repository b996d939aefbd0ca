#include "tests/soak/links.h"

#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/integration/live_run.h"

namespace paceline::soak {
namespace {

constexpr int kDeadlineMs = 10000;
const Link kLink{"me", "server"};

sockaddr_un At(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
  return name;
}

// A server that sends back what it gets, one connection at a time; and who dials it by its link.
class LinksTest : public ::testing::Test {
 protected:
  LinksTest() {
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un name = At(folder_.path() + "/real");
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    folder_.Write("server.target", folder_.path() + "/real\n");
    server_ = std::thread([this] { Serve(); });
    links_ = std::make_unique<Links>(folder_.path(), std::vector<std::string>{"server"},
                                     [](pid_t pid) { return pid == getpid() ? "me" : "other"; });
  }
  ~LinksTest() override {
    for (const int client : clients_) close(client);
    links_.reset();
    shutdown(listener_, SHUT_RDWR);
    server_.join();
    close(listener_);
  }

  void Serve() {
    while (true) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      char bytes[4096];
      for (ssize_t count = 1; count > 0;) {
        count = recv(connection, bytes, sizeof(bytes), 0);
        if (count > 0) count = send(connection, bytes, static_cast<size_t>(count), MSG_NOSIGNAL);
      }
      close(connection);
    }
  }

  int Dial() {
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un name = At(links_->AddressOf("server").substr(std::strlen("unix:")));
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
    clients_.push_back(client);
    return client;
  }
  static void Send(int client, const std::string& text) {
    EXPECT_EQ(send(client, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  // What comes back; empty if nothing does in that time, "end" if the connection ends.
  static std::string Receive(int client, size_t size = 5, int timeout_ms = kDeadlineMs) {
    std::string text;
    while (text.size() < size) {
      pollfd waited{client, POLLIN, 0};
      if (poll(&waited, 1, timeout_ms) <= 0) return text;
      char bytes[4096];
      const ssize_t count = recv(client, bytes, std::min(sizeof(bytes), size - text.size()), 0);
      if (count <= 0) return "end";
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  }

  integration::TestFolder folder_;
  int listener_ = -1;
  std::thread server_;
  std::unique_ptr<Links> links_;
  std::vector<int> clients_;
};

TEST_F(LinksTest, CarriesBytesAndKnowsWhoDials) {
  const int client = Dial();
  Send(client, "hello");
  EXPECT_EQ(Receive(client), "hello");
  EXPECT_EQ(links_->Used(), std::vector<Link>{kLink});
}

TEST_F(LinksTest, CutBreaksWhatIsOpenAndRefusesWhatIsNew) {
  const int client = Dial();
  Send(client, "hello");
  EXPECT_EQ(Receive(client), "hello");
  links_->Cut({"somebody else", "server"});
  Send(client, "again");
  EXPECT_EQ(Receive(client), "again");
  links_->Cut(kLink);
  EXPECT_EQ(Receive(client), "end");
  EXPECT_EQ(Receive(Dial()), "end");
  links_->Restore(kLink);
  const int another = Dial();
  Send(another, "hello");
  EXPECT_EQ(Receive(another), "hello");
}

TEST_F(LinksTest, SilenceKeepsWhatIsOpenAndPassesNothing) {
  const int client = Dial();
  Send(client, "hello");
  EXPECT_EQ(Receive(client), "hello");
  links_->Silence(kLink);
  Send(client, "later");
  EXPECT_EQ(Receive(client, 5, 200), "");
  links_->Restore(kLink);
  EXPECT_EQ(Receive(client), "later");
}

TEST_F(LinksTest, SlowIsNoFasterThanSaid) {
  const int client = Dial();
  links_->Slow(kLink, 20000);
  const std::string text(16384, 'x');
  const auto began = std::chrono::steady_clock::now();
  Send(client, text);
  EXPECT_EQ(Receive(client, text.size()), text);
  // Four pieces of 4 KiB, each 0.2 s after the one before.
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(600));
}

TEST_F(LinksTest, AServerThatIsNotThereEndsTheConnection) {
  folder_.Write("server.target", folder_.path() + "/nobody\n");
  EXPECT_EQ(Receive(Dial()), "end");
}

}  // namespace
}  // namespace paceline::soak
