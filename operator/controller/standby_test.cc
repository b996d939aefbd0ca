// What an operator that stands by keeps of the jobs that come and go meanwhile: nothing.
#include <atomic>
#include <chrono>
#include <future>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "lib/kube/testing/scripted_http.h"
#include "operator/controller/operator.h"

namespace paceline::controller {
namespace {

using kube::testing::ScriptedConnection;
using kube::testing::ScriptedHttp;
using kube::testing::ScriptedRequest;
using ::testing::HasSubstr;

constexpr int kJobs = 10000;

constexpr const char* kLease = R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
"metadata":{"name":"paceline-operator","namespace":"paceline-system","uid":"l","resourceVersion":"3"},
"spec":{"holderIdentity":"another","leaseDurationSeconds":3600,"leaseTransitions":1,
"acquireTime":"2026-01-31T09:30:00.000000Z","renewTime":"2026-01-31T09:30:00.000000Z"}})";

std::string Job(int i) {
  return fmt::format(
      R"({{"apiVersion":"paceline.dev/v1alpha1","kind":"TrainingJob","metadata":{{"namespace":"research",)"
      R"("name":"job-{0}","uid":"u-{0}","resourceVersion":"{1}","generation":1}},"spec":{{}}}})",
      i, 10 + i);
}

std::string Pod(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"namespace":"research","name":"job-{0}-worker-0",)"
      R"("uid":"p-{0}","resourceVersion":"{1}","labels":{{"paceline.dev/job":"job-{0}",)"
      R"("paceline.dev/role":"worker","paceline.dev/index":"0"}},"ownerReferences":[{{)"
      R"("kind":"TrainingJob","uid":"u-{0}","controller":true}}]}},"status":{{"phase":"Running"}}}})",
      i, 10 + i);
}

// An event of that type for each of them.
std::string Events(const char* type, std::string (*object)(int)) {
  std::string events;
  for (int i = 0; i < kJobs; ++i)
    events += fmt::format(R"({{"type":"{}","object":{}}})", type, object(i)) + "\n";
  return events;
}

// An API server: jobs appear, then their pods come and go, then the jobs go. A watch is asked for
// again when all of the one before was taken in.
class Churn {
 public:
  void Answer(const ScriptedRequest& request, ScriptedConnection& connection) {
    const std::string& target = request.target;
    if (target.find("/leases/") != std::string::npos) return void(connection.Answer(200, kLease));
    if (target.find("watch=true") == std::string::npos)
      return void(connection.Answer(200, R"({"metadata":{"resourceVersion":"5"},"items":[]})"));
    connection.StartChunks();
    const bool is_of_jobs = target.find("/trainingjobs") != std::string::npos;
    const bool is_of_pods = target.find("/pods") != std::string::npos;
    const int round = is_of_jobs ? ++rounds_of_jobs_ : is_of_pods ? ++rounds_of_pods_ : 0;
    if (is_of_jobs && round == 1) {
      may_begin_.get_future().wait();
      connection.Chunk(Events("ADDED", Job));
    } else if (is_of_jobs && round == 2) {
      jobs_are_there_.set_value();
      pods_are_gone_.get_future().wait();
      connection.Chunk(Events("DELETED", Job));
    } else if (is_of_pods && round == 1) {
      jobs_are_there_.get_future().wait();
      connection.Chunk(Events("ADDED", Pod) + Events("DELETED", Pod));
    } else {
      if (is_of_pods && round == 2) pods_are_gone_.set_value();
      if (is_of_jobs && round == 3) jobs_are_gone_.set_value();
      connection.WaitForClose(Seconds(120));
      return;
    }
    connection.EndChunks();
  }
  void Begin() { may_begin_.set_value(); }
  bool WaitForEnd() {
    return jobs_are_gone_.get_future().wait_for(std::chrono::seconds(100)) ==
           std::future_status::ready;
  }

 private:
  std::atomic<int> rounds_of_jobs_ = 0, rounds_of_pods_ = 0;
  std::promise<void> may_begin_, jobs_are_there_, pods_are_gone_, jobs_are_gone_;
};

TEST(Standby, RemembersAndQueuesNothingOverTenThousandJobs) {
  Churn churn;
  ScriptedHttp server([&](const ScriptedRequest& request, ScriptedConnection& connection) {
    churn.Answer(request, connection);
  });
  kube::Config config;
  config.server = server.url();
  const auto client = kube::Client::Create(config).value();
  telemetry::Metrics metrics;
  OperatorMetrics operator_metrics(&metrics);
  Operator standby(client.get(), &operator_metrics,
                   {.name_space = "",
                    .identity = "standby",
                    .elects_leader = true,
                    .lease = {"paceline-system", "paceline-operator"},
                    .reconciler = {.objects = {.operator_namespace = "paceline-system"}}},
                   [] {});
  ASSERT_TRUE(standby.Start(std::chrono::seconds(60)).ok());
  const size_t before = mallinfo2().uordblks;
  churn.Begin();
  ASSERT_TRUE(churn.WaitForEnd());
  EXPECT_TRUE(standby.Jobs().empty());
  // The name of each job alone would be more.
  const size_t after = mallinfo2().uordblks;
  EXPECT_LT(after, before + 30 * kJobs);
  EXPECT_THAT(metrics.RenderText(), HasSubstr("paceline_operator_queue_adds_total 0\n"));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("paceline_operator_is_leader 0\n"));
}

}  // namespace
}  // namespace paceline::controller
