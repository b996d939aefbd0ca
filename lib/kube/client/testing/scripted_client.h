// A client for tests that ask a scripted server: it goes through no proxy and pauses shortly.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "lib/kube/client/client.h"
#include "lib/kube/testing/scripted_http.h"

namespace paceline::kube::testing {

inline ClientOptions Quick() {
  return {.deadline = Seconds(20), .backoff_min = Seconds(0.001), .backoff_max = Seconds(0.01)};
}

inline std::unique_ptr<Client> Started(const ScriptedHttp& server,
                                       ClientOptions options = Quick()) {
  Config config;
  config.server = server.url();
  config.proxy_url = "";
  auto client = Client::Create(std::move(config), std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

}  // namespace paceline::kube::testing
