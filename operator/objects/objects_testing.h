// What tests of the job's objects are made of: a job of four workers, its pods, and what is in
// them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/job/manifest/defaults.h"
#include "lib/job/manifest/yaml.h"
#include "operator/objects/pods/pod.h"

namespace paceline::controller {

inline job::TrainingJob Digits() {
  job::TrainingJob job;
  job.metadata.name = "digits";
  job.metadata.name_space = "research";
  job.metadata.uid = "uid-1";
  job.spec.data.eval = "test.safetensors";
  job.spec.parameter_server.shards = 2;
  job.spec.workers.replicas = 4;
  job.spec.workers.min_replicas = 2;
  job::ApplyDefaults(job);
  return job;
}

inline job::Start StartOf(job::Role role, int64_t index) {
  return {.name = job::ProcessName("digits", role, index),
          .role = role,
          .index = index,
          .generation_start = 3,
          .attempt = 2,
          .failures = 1,
          .unfit = 4,
          .disruptions = 5};
}

inline const ObjectOptions kOptions = {
    .server_image = "ps:1", .worker_image = "worker:1", .worker_cuda_image = "cuda:1"};

inline Json Pod(const job::TrainingJob& job, job::Role role, int64_t index = 0) {
  return BuildPod(job, StartOf(role, index), kOptions);
}

inline job::Node Yaml(const std::string& text) {
  auto parsed = job::ParseYaml(text);
  EXPECT_TRUE(parsed.errors.empty());
  return parsed.root;
}

inline std::vector<std::string> Arguments(const Json& pod, size_t container = 0) {
  return pod["spec"]["containers"][container]["args"].get<std::vector<std::string>>();
}

inline std::string After(const std::vector<std::string>& arguments, const std::string& flag) {
  const auto found = std::find(arguments.begin(), arguments.end(), flag);
  return found == arguments.end() || found + 1 == arguments.end() ? "" : *(found + 1);
}

inline const Json* Named(const Json& list, const std::string& name) {
  for (const Json& element : list) {
    if (element.value("name", "") == name) return &element;
  }
  return nullptr;
}

}  // namespace paceline::controller
