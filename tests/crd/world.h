// An API server with deploy/crd/trainingjobs.yaml, and what tests ask it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/kube/client/client.h"
#include "lib/kube/testing/api_server.h"

namespace paceline::crd_test {

using kube::Json;

kube::Resource TrainingJobs();

// What the API server says of a manifest.
struct Answer {
  bool is_accepted = false;
  std::string text;  // The object, or why not.
};

class World {
 public:
  // The program's own; an error if the server is not to be had.
  static StatusOr<World*> Get();

  kube::Client& client() { return *client_; }
  const kube::testing::ApiServer& server() const { return *server_; }

  // As kubectl create does it, unknown fields refused; nothing is stored.
  Answer TryCreate(const std::string& manifest, const std::string& content_type,
                   const std::string& name_space = "default");
  // The same of what the server would store; a failure of the test if it refuses.
  Json DryRun(const Json& object);

 private:
  explicit World(kube::testing::ApiServer* server) : server_(server) {}
  Status Prepare();

  kube::testing::ApiServer* const server_;
  std::unique_ptr<kube::Client> client_;
};

// Accepts 64 samples a step, 4 workers and no more than 8.
Json SmallJob(const std::string& name);

}  // namespace paceline::crd_test

// Declares `world`, or skips with the reason where the binaries are missing.
#define PACELINE_CRD_WORLD(world)                                                    \
  const auto world##_or = ::paceline::crd_test::World::Get();                        \
  if (!world##_or.ok() && ::paceline::kube::testing::MaySkip(world##_or.status())) { \
    GTEST_SKIP() << world##_or.status().ToString();                                  \
  }                                                                                  \
  ASSERT_TRUE(world##_or.ok()) << world##_or.status().ToString();                    \
  ::paceline::crd_test::World& world = **world##_or
