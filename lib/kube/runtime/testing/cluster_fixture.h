// The fixture of the runtime's tests against a real kube-apiserver. For tests only.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "lib/kube/client/client.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/testing/api_server.h"

namespace paceline::kube {

// The shared server, an admin's client, and a namespace for each test.
class RuntimeCluster : public ::testing::Test {
 protected:
  void SetUp() override {
    PACELINE_API_SERVER_OR_SKIP(server);
    server_ = &server;
    client_ = NewClient();
    ns_ = Name(
        client_->Call(Create(Namespaces(), {{"metadata", {{"generateName", "test-"}}}})).value());
  }

  // As the admin; `port`: of a proxy, instead of the server's.
  std::unique_ptr<Client> NewClient(int port = 0) {
    Config config = LoadKubeconfig(server_->kubeconfig()).value();
    if (port != 0) config.server = fmt::format("https://127.0.0.1:{}", port);
    return Client::Create(std::move(config), {.user_agent = "runtime-test"}).value();
  }

  Json ConfigMap(const std::string& name, const StringMap& labels = {}) const {
    Json map = {{"metadata", {{"namespace", ns_}, {"name", name}}}};
    for (const auto& [key, value] : labels) SetLabel(map, key, value);
    return map;
  }

  testing::ApiServer* server_ = nullptr;
  std::unique_ptr<Client> client_;
  std::string ns_;
};

// Something that callbacks change and tests wait for.
class Gate {
 public:
  void Change(const std::function<void()>& change) {
    std::lock_guard lock(mutex_);
    change();
    changed_.notify_all();
  }
  // Whether `holds` came true within a minute.
  bool WaitUntil(const std::function<bool()>& holds) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), holds);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace paceline::kube
