// Says where a job's coordinator writes the final model on a cluster, whether that outlives its
// pod, and how it is got at where it does not (docs/adr/0030).
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// Whether the model would go with the coordinator's pod: no spec.output.volume, or one that lives
// no longer than a pod does. The coordinator then serves it.
bool GoesWithPod(const JobSpec& spec);

// "claim digits-out, model.safetensors"; of a volume that outlives the pod.
std::string ModelPlace(const JobSpec& spec);

// The Secret whose kTokenKey opens the model of the job of this name, and, without certificates,
// its coordinator's control calls (docs/adr/0034).
std::string TokenSecretName(const std::string& job_name);
inline constexpr const char* kTokenKey = "token";

// At the coordinator's plain port (ports.h), with that token in this header.
inline constexpr const char* kModelPath = "/v1/model";
inline constexpr int64_t kModelPieceBytesMax = 4 << 20;  // Of one answer.

}  // namespace paceline::job
