// paceline fetch of a cluster's job, on a real API server.
#include <filesystem>
#include <fstream>

#include "cli/commands/testing/cluster.h"
#include "lib/process/read_file.h"

namespace paceline::commands {
namespace {

using kube::Json;
using ::testing::HasSubstr;

TEST_F(FetchTest, TheModelComesThroughTheApiServerAndTheJobIsTold) {
  Serve();
  // The least that a user needs: the job, its model's Secret, and this port of this pod.
  const Json pod = {{"apiGroups", {""}},
                    {"resources", {"pods/proxy"}},
                    {"resourceNames", {"digits-ps-0:" + std::to_string(port_)}},
                    {"verbs", {"get", "create"}}};
  const Json read_job = {
      {"apiGroups", {"paceline.dev"}}, {"resources", {"trainingjobs"}}, {"verbs", {"get"}}};
  const Json secret = {{"apiGroups", {""}},
                       {"resources", {"secrets"}},
                       {"resourceNames", {"digits-token"}},
                       {"verbs", {"get"}}};
  kubeconfig_ = KubeconfigOf("stranger", Json::array({read_job, pod}));
  const Answered refused = FetchIt();
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(User "stranger" cannot get resource "secrets")"));
  kubeconfig_ = KubeconfigOf("fetcher", Json::array({read_job, pod, secret}));
  const Answered fetched = FetchIt();
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_THAT(fetched.out, HasSubstr("3000000 bytes, SHA-256 " + serving_.sha256()));
  EXPECT_EQ(process::ReadFile(path()).value(), serving_.content());
  EXPECT_EQ(serving_.Confirmed(), serving_.sha256());
}

TEST_F(FetchTest, WhatWasCutOffGoesOnWhereItWas) {
  Serve();
  serving_.breaks_after = 1;
  const Answered cut_off = FetchIt();
  EXPECT_NE(cut_off.code, 0);
  EXPECT_THAT(cut_off.err, HasSubstr(" have come and are kept, call again to go on"));
  EXPECT_FALSE(std::filesystem::exists(path()));
  serving_.breaks_after = 1 << 30;
  serving_.first = -1;
  const Answered fetched = FetchIt();
  EXPECT_EQ(fetched.code, 0) << fetched.err;
  EXPECT_GT(serving_.first, 0);
  EXPECT_EQ(process::ReadFile(path()).value(), serving_.content());
}

TEST_F(FetchTest, WhatIsThereAlreadyIsConfirmedOrLeftAsItIs) {
  Serve();
  std::ofstream(path()) << "somebody else's";
  const Answered other = FetchIt();
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("is there already and is another file"));
  EXPECT_EQ(process::ReadFile(path()).value(), "somebody else's");
  std::ofstream(path(), std::ios::binary) << serving_.content();
  EXPECT_EQ(FetchIt().code, 0);
  EXPECT_EQ(serving_.first, -1);
  EXPECT_EQ(serving_.Confirmed(), serving_.sha256());
}

TEST_F(FetchTest, WhereThereIsNothingToFetchItSaysWhy) {
  SetStatus({{"state", "Running"}});
  const Answered early = FetchIt();
  EXPECT_EQ(early.code, 1);
  EXPECT_THAT(early.err, HasSubstr("digits is Running: its model is not there yet"));
  SetModel({{"state", "OnVolume"}, {"where", "claim out, model.safetensors"}});
  EXPECT_THAT(FetchIt().err, HasSubstr("its model lies on claim out, model.safetensors"));
  SetModel({{"state", "Lost"}, {"message", "digits-ps-0 was evicted"}});
  EXPECT_THAT(FetchIt().err, HasSubstr("its model is Lost: digits-ps-0 was evicted"));
}

}  // namespace
}  // namespace paceline::commands
