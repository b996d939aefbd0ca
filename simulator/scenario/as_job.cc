#include "simulator/scenario/as_job.h"

#include <utility>

#include "lib/job/checks/validate.h"
#include "lib/job/manifest/decode.h"
#include "lib/job/manifest/defaults.h"

namespace paceline::simulator {

using job::FieldError;
using job::Node;

job::TrainingJob ReadAsJob(const std::string& section, const Node& node, const std::string& path,
                           const JobAround& around, std::vector<FieldError>& errors) {
  Node job(Node::Kind::kMap);
  job["apiVersion"] = Node::String("paceline.dev/v1alpha1");
  job["kind"] = Node::String("TrainingJob");
  Node& spec = job["spec"] = Node(Node::Kind::kMap);
  spec[section] = node;
  spec["workers"] = Node(Node::Kind::kMap);
  spec["workers"]["replicas"] = Node::Integer(around.workers);
  spec["training"] = Node(Node::Kind::kMap);
  spec["training"]["globalBatchSize"] = Node::Integer(around.global_batch_size);
  Node& optimizer = spec["training"]["optimizer"] = Node(Node::Kind::kMap);
  optimizer["type"] = Node::String("SGD");
  optimizer["sgd"] = Node(Node::Kind::kMap);
  optimizer["sgd"]["momentum"] = Node::Float(around.momentum);
  job::Decoded decoded = job::Decode(job);
  job::ApplyDefaults(decoded.job);
  std::vector<FieldError> found = decoded.errors;
  const std::vector<FieldError> judged =
      job::Validate(decoded.job, job::Capabilities(), decoded.errors);
  found.insert(found.end(), judged.begin(), judged.end());
  const std::string own = "spec." + section;
  for (FieldError& error : found) {
    if (!error.path.starts_with(own)) continue;  // What only a real job has to say.
    const int line = LineOf(job, error.path);
    // Other fields that its message names are here, too.
    std::string message = error.message;
    for (size_t at = 0; (at = message.find(own, at)) != std::string::npos; at += path.size())
      message.replace(at, own.size(), path);
    errors.push_back(
        {path + error.path.substr(own.size()), std::move(message), line > 0 ? line : node.line});
  }
  return std::move(decoded.job);
}

}  // namespace paceline::simulator
