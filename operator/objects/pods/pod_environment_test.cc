#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/job/environment.h"
#include "operator/objects/objects_testing.h"

namespace paceline::controller {
namespace {

// Of the node's cores, which the kubelet would name without a limit, most are not the container's.
TEST(PodTest, ThreadsAreTheCoresThatTheTemplateGives) {
  const auto cores = [](const std::string& resources) -> Json {
    job::TrainingJob job = Digits();
    job.spec.workers.pod_template =
        Yaml(fmt::format("spec: {{containers: [{{name: worker, resources: {}}}]}}", resources));
    const Json pod = Pod(job, job::Role::kWorker);
    const Json* const variable = Named(pod["spec"]["containers"][0]["env"], "OMP_NUM_THREADS");
    return variable == nullptr ? Json() : (*variable)["valueFrom"]["resourceFieldRef"]["resource"];
  };
  EXPECT_EQ(cores("{limits: {cpu: 4}, requests: {cpu: 2}}"), "limits.cpu");
  EXPECT_EQ(cores("{requests: {cpu: 2, memory: 1Gi}}"), "requests.cpu");
  EXPECT_EQ(cores("{requests: {memory: 1Gi}}"), Json());
  EXPECT_EQ(cores("{}"), Json());
}

job::TrainingJob Mine() {
  job::TrainingJob job = Digits();
  job.spec.model = {};
  job.spec.data = {};
  job.spec.workers.command = {"python3", "train.py"};
  job.spec.workers.working_dir = "/src";
  job.spec.workers.pod_template = Yaml(
      "spec: {containers: [{name: worker, image: 'mine:1', args: [--width, '64'], env: [{name: A, "
      "value: b}, {name: PACELINE_INDEX, value: '9'}]}]}");
  return job;
}

std::string ValueOf(const Json& pod, const std::string& name) {
  const Json* const variable = Named(pod["spec"]["containers"][0]["env"], name);
  return variable == nullptr ? "" : variable->value("value", "");
}

TEST(PodTest, ACommandIsToldByItsEnvironment) {
  const Json pod = Pod(Mine(), job::Role::kWorker, 2);
  const Json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(container["command"], Json::array({"python3", "train.py"}));
  EXPECT_EQ(container["args"], Json::array({"--width", "64"}));
  EXPECT_EQ(container["workingDir"], "/src");
  EXPECT_EQ(container["image"], "mine:1");
  EXPECT_EQ(ValueOf(pod, "PACELINE_ROLE"), "worker");
  EXPECT_EQ(ValueOf(pod, "PACELINE_INDEX"), "2") << "ours, whatever a template says";
  EXPECT_EQ(ValueOf(pod, "PACELINE_ATTEMPT"), "2");
  EXPECT_EQ(ValueOf(pod, "PACELINE_LOG_FORMAT"), "json");
  EXPECT_EQ(ValueOf(pod, "PACELINE_TERMINATION_MESSAGE"), "/dev/termination-log");
  EXPECT_EQ(ValueOf(pod, "PACELINE_TLS_FOLDER"),
            After(Arguments(Pod(Digits(), job::Role::kWorker)), "--tls-folder"));
  EXPECT_EQ(ValueOf(pod, "PACELINE_COORDINATOR"),
            After(Arguments(Pod(Digits(), job::Role::kWorker)), "--coordinator"));
  EXPECT_EQ(ValueOf(pod, "A"), "b");
}

TEST(PodTest, ScriptsHaveOneOrderOfSetsUnlessTheTemplateSaysOtherwise) {
  job::TrainingJob job = Mine();
  job.spec.evaluator.emplace();
  job.spec.training.seed = 5;
  for (const job::Role role : {job::Role::kWorker, job::Role::kEvaluator}) {
    const Json pod = Pod(job, role);
    EXPECT_EQ(ValueOf(pod, "PYTHONHASHSEED"), "5");
    EXPECT_EQ(ValueOf(pod, "PYTHONUNBUFFERED"), "1");
  }
  EXPECT_EQ(ValueOf(Pod(job, job::Role::kParameterServer), "PYTHONHASHSEED"), "");
  EXPECT_EQ(ValueOf(Pod(Digits(), job::Role::kWorker), "PYTHONHASHSEED"), "") << "it is no script";
  job.spec.workers.pod_template = Yaml(
      "spec: {containers: [{name: worker, image: 'mine:1', env: [{name: PYTHONHASHSEED, value: "
      "random}, {name: PYTHONUNBUFFERED, value: ''}]}]}");
  const Json pod = Pod(job, job::Role::kWorker);
  EXPECT_EQ(ValueOf(pod, "PYTHONHASHSEED"), "random");
  EXPECT_EQ(ValueOf(pod, "PYTHONUNBUFFERED"), "");
  const Json& environment = pod["spec"]["containers"][0]["env"];
  EXPECT_EQ(std::count_if(environment.begin(), environment.end(),
                          [](const Json& one) { return one["name"] == "PYTHONHASHSEED"; }),
            1);
}

// Whatever our own program's flags say, with another name.
TEST(PodTest, ACommandIsToldAllThatOurProgramIs) {
  for (const job::Role role : {job::Role::kWorker, job::Role::kEvaluator}) {
    job::TrainingJob ours = Digits();
    ours.spec.evaluator.emplace();
    job::TrainingJob own = Mine();
    own.spec.evaluator.emplace();
    const Json pod = Pod(own, role, 3);
    const job::Environment told = job::AsEnvironment(Arguments(Pod(ours, role, 3)));
    EXPECT_GE(told.size(), 7u);
    for (const auto& [name, value] : told) EXPECT_EQ(ValueOf(pod, name), value) << name;
  }
}

TEST(PodTest, AnEvaluatorOfACommandRunsItInTheWorkersImage) {
  job::TrainingJob job = Mine();
  job.spec.evaluator.emplace();
  const Json pod = Pod(job, job::Role::kEvaluator);
  EXPECT_EQ(pod["spec"]["containers"][0]["command"], Json::array({"python3", "train.py"}));
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "mine:1");
  EXPECT_EQ(ValueOf(pod, "PACELINE_ROLE"), "evaluator");
  job.spec.evaluator->pod_template =
      Yaml("spec: {containers: [{name: evaluator, image: 'judge:1'}]}");
  EXPECT_EQ(Pod(job, job::Role::kEvaluator)["spec"]["containers"][0]["image"], "judge:1");
}

TEST(PodTest, AParameterServerIsOursWhateverTheWorkersRun) {
  const Json pod = Pod(Mine(), job::Role::kParameterServer);
  EXPECT_EQ(pod["spec"]["containers"][0]["command"], Json::array({"paceline-ps"}));
  EXPECT_EQ(pod["spec"]["containers"][0]["image"], "ps:1");
  EXPECT_EQ(Named(pod["spec"]["containers"][0]["env"], "PACELINE_ROLE"), nullptr);
}

}  // namespace
}  // namespace paceline::controller
