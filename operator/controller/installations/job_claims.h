// Defines JobClaims: of several installations of Paceline that see a job, one has it.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/cluster_view.h"
#include "operator/controller/installations/installations.h"
#include "operator/controller/job_record.h"

namespace paceline::controller {

// The claim is the create of the job's first child, its ConfigMap, which says who made it
// (docs/adr/0088). Thread-safe; holds nothing of a job.
class JobClaims {
 public:
  // All outlive this.
  JobClaims(kube::Client* client, const ClusterView* view, Installations* installations);

  // Takes the job if nobody has it, or if it is to be adopted, and notes in its record whose it is.
  // Nothing else is done to a job before. What a former job has left where the claim would be is
  // added to the record. After an error the record says what it said before.
  Status Settle(const job::TrainingJob& job, JobRecord& record);

  // Whether a seed to adopt cannot be read: what is another's may be this one's later.
  bool LacksSeeds();
  // Of a job that is another's, for people: whose, and what to do if that one is gone.
  std::string Describe(const JobClaim& claim);

 private:
  // `map`: the job's ConfigMap, or its metadata; null if there is none.
  Status SettleBy(const job::TrainingJob& job, const kube::Json* map, JobRecord& record);
  Status Make(const job::TrainingJob& job, const Keeper& keeper, JobRecord& record);
  // Whether the job has Secrets: which of those known made them; kUnknownInstallation; or empty.
  StatusOr<std::string> SealedBy(const job::TrainingJob& job,
                                 const KnownInstallations& known) const;
  JobLife LifeOf(const job::TrainingJob& job) const;

  kube::Client* const client_;
  const ClusterView* const view_;
  Installations* const installations_;
};

}  // namespace paceline::controller
