// Certificates that are renewed, and expire, while training runs: nobody reconnects for it.
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::IsSupersetOf;
using Json = nlohmann::json;

constexpr int kEstablished = 1;  // Linux, include/net/tcp_states.h.
constexpr int kWorkers = 2;

// The peers' addresses of the connections that are open to that port of this machine.
std::set<std::string> ConnectionsTo(int port) {
  std::set<std::string> peers;
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    std::string line;
    std::getline(file, line);  // Its head.
    while (std::getline(file, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      const auto port_of = [](const std::string& address) {
        return std::stoi(address.substr(address.rfind(':') + 1), nullptr, 16);
      };
      if (std::stoi(state, nullptr, 16) == kEstablished && port_of(local) == port)
        peers.insert(remote);
    }
  }
  return peers;
}

class RenewalTest : public ::testing::Test {
 protected:
  RenewalTest()
      : job_(folder_, {.manifest = DigitsManifest(),
                       .overrides = Paced(0.001, {"spec.workers.replicas=2", "spec.data.eval=null",
                                                  "spec.training.stop.maxEpochs=1000"})}) {}

  void Issue(tls::Role role, uint64_t index, const tls::Validity& validity) {
    const std::string name = tls::NameOf({role, index}, "t", "default");
    job_.tls(role, index)
        .Write(tls::testing::Issued(job_.authority(), {name, "127.0.0.1", "localhost"}, validity),
               job_.authority().certificate);
  }
  void IssueAll(const tls::Validity& validity) {
    Issue(tls::Role::kPs, 0, validity);
    for (int worker = 0; worker < kWorkers; ++worker) Issue(tls::Role::kWorker, worker, validity);
    Issue(tls::Role::kOperator, 0, validity);
  }
  // A step as far ahead of the one that is reached now.
  bool Goes(int steps) {
    const Json now = job_.State();
    if (now.is_null()) return false;
    const int step = now["step"].get<int>() + steps;
    return !job_.WaitFor([&](const Json& later) { return later["step"] >= step; }).is_null();
  }

  const TestFolder folder_;
  TcpJob job_;
};

TEST_F(RenewalTest, NobodyReconnectsAndWhoComesLaterComesIn) {
  constexpr auto kLifetime = std::chrono::seconds(8);
  const tls::Validity brief = tls::testing::Around(std::chrono::minutes(1), kLifetime);
  IssueAll(brief);
  job_.StartPs(0);
  for (int worker = 0; worker < kWorkers; ++worker) job_.StartWorker(worker);
  const Json begun = job_.WaitFor([](const Json& now) { return now["step"] >= 5; });
  ASSERT_FALSE(begun.is_null()) << job_.LogOf("ps-0");
  const std::set<std::string> before = ConnectionsTo(job_.port());
  ASSERT_GE(before.size(), static_cast<size_t>(kWorkers));

  IssueAll(tls::testing::kNow);
  ASSERT_FALSE(
      job_.WaitFor([&](const Json&) { return std::chrono::system_clock::now() > brief.not_after; })
          .is_null());
  ASSERT_TRUE(Goes(20)) << job_.LogOf("ps-0");
  EXPECT_EQ(ConnectionsTo(job_.port()), before);

  // With what was renewed only; and the operator's call as well.
  job_.StartWorker(kWorkers);
  ASSERT_TRUE(
      job_.Call("PUT", "/v1/job/spec", job_.Resolved({"spec.workers.replicas=3"}).dump()).ok());
  const Json grown = job_.WaitFor([](const Json& now) { return now["workers"].size() == 3; });
  ASSERT_FALSE(grown.is_null()) << job_.LogOf("ps-0");
  ASSERT_TRUE(Goes(5));
  EXPECT_THAT(ConnectionsTo(job_.port()), IsSupersetOf(before));
  for (int worker = 0; worker < kWorkers; ++worker) {
    EXPECT_EQ(grown["workers"][worker]["incarnation"], begun["workers"][worker]["incarnation"]);
  }
}

}  // namespace
}  // namespace paceline::integration
