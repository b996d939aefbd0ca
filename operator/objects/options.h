// Defines ObjectOptions: what a job's objects depend on beside the job.
#pragma once

#include <map>
#include <string>

namespace paceline::controller {

// Who places the pods of a job together or not at all.
enum class GangScheduler {
  kNone,
  kVolcano,       // PodGroup of scheduling.volcano.sh.
  kCoscheduling,  // PodGroup of scheduling.x-k8s.io, the scheduler-plugins' one.
};

struct ObjectOptions {
  std::string server_image;             // Of parameter servers, where the template names none.
  std::string worker_image;             // Of workers and the evaluator, likewise...
  std::string worker_cuda_image;        // ...where they compute on a GPU; empty: the other one.
  std::string image_architecture = {};  // Of these, as nodes name theirs; empty: any.
  std::string operator_namespace = "paceline-system";
  std::map<std::string, std::string> operator_labels = {};  // That its pods have; empty: unknown.
  GangScheduler gang_scheduler = GangScheduler::kNone;
};

}  // namespace paceline::controller
