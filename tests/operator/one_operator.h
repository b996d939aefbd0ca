// Defines OneOperator, the fixture of tests in which one operator has all jobs, each of them in a
// namespace of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/operator/job.h"

namespace paceline::operator_test {

// Skipped, with the reason, where there is no API server.
class OneOperator : public ::testing::Test {
 protected:
  void SetUp() override {
    world_ = World::Get();
    if (world_ == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
    StartOperator();
  }

  void StartOperator() {
    operator_ = std::make_unique<OperatorProcess>(*world_,
                                                  std::vector<std::string>{"--leader-elect=false"});
    ASSERT_TRUE(operator_->WaitForText("leading")) << operator_->Log();
  }

  // All pods run, as far as a kubelet could tell.
  void Start(const Job& job) {
    ASSERT_TRUE(job.WaitForPods(job.AllPodNames())) << job.Describe();
    job.RunAll();
    ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  }

  kube::Client& client() { return world_->client(); }
  // Null if it is not there.
  Json Object(const kube::Resource& resource, const kube::ObjectKey& key) {
    const auto object = client().Call(kube::Get(resource, key));
    return object.ok() ? *object : Json();
  }
  Json Object(const kube::Resource& resource, const Job& job, const std::string& name) {
    return Object(resource, {job.name_space(), name});
  }

  World* world_ = nullptr;
  std::unique_ptr<OperatorProcess> operator_;
};

}  // namespace paceline::operator_test
