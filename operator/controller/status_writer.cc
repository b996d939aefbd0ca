#include "operator/controller/status_writer.h"

#include "lib/job/manifest/encode.h"
#include "lib/kube/core/metadata.h"
#include "lib/kube/core/patch.h"
#include "operator/controller/resources.h"

namespace paceline::controller {

StatusNews NewsBetween(const job::JobStatus& before, const job::JobStatus& after) {
  if (before == after) return StatusNews::kNone;
  job::JobStatus only_progress = after;
  only_progress.progress = before.progress;
  only_progress.workers = before.workers;
  only_progress.sync = before.sync;
  // How many are waited for changes with the workers' pace, the scheme when somebody wants it to.
  if (after.sync && before.sync) only_progress.sync->scheme = after.sync->scheme;
  only_progress.checkpoint = before.checkpoint;
  return only_progress == before ? StatusNews::kProgress : StatusNews::kFacts;
}

StatusOr<std::optional<Duration>> WriteStatus(kube::Client& client, const kube::Json& object,
                                              const job::JobStatus& before,
                                              const job::JobStatus& after, JobRecord& record,
                                              Time now) {
  const StatusNews news = NewsBetween(before, after);
  if (news == StatusNews::kNone) return std::nullopt;
  if (news == StatusNews::kProgress && record.progress_written_at &&
      now - *record.progress_written_at < kProgressPeriod) {
    return *record.progress_written_at + kProgressPeriod - now;
  }
  job::JobStatus told = after;
  if (told.progress && told.progress != before.progress) told.progress->last_update_time = now;
  const kube::Json seen = object.contains("status") ? object["status"] : kube::Json::object();
  const kube::Json patch = {{"metadata", {{"resourceVersion", kube::ResourceVersion(object)}}},
                            {"status", kube::MergePatchBetween(seen, job::ToJson(told))}};
  PACELINE_RETURN_IF_ERROR(client
                               .Call(kube::MergePatch(TrainingJobs(), kube::KeyOf(object), patch,
                                                      {.subresource = "status",
                                                       .field_manager = kFieldManager,
                                                       .answer = kube::Answer::kNothing}))
                               .status());
  record.progress_written_at = now;
  return std::nullopt;
}

}  // namespace paceline::controller
