#include "operator/controller/operator_metrics.h"

#include <map>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"

namespace paceline::controller {
namespace {

std::vector<double> Decades() { return telemetry::ExponentialBuckets(0.001, 3, 10); }

}  // namespace

OperatorMetrics::OperatorMetrics(telemetry::Metrics* metrics)
    : calls_(metrics->Counters("paceline_operator_api_requests_total",
                               "Requests to the API server; code 0: no answer.",
                               {"verb", "resource", "code"})),
      call_seconds_(metrics->Histograms("paceline_operator_api_request_seconds",
                                        "Time until the API server had answered.", Decades(),
                                        {"verb"})),
      reconciles_(metrics->Counters("paceline_operator_reconciles_total",
                                    "Reconciles of a job, by how they ended.", {"outcome"})),
      reconcile_seconds_(metrics->OneHistogram("paceline_operator_reconcile_seconds",
                                               "Time of one reconcile of a job.", Decades())),
      queue_depth_(metrics->OneGauge("paceline_operator_queue_depth", "Jobs in the work queue.")),
      queue_adds_(metrics->OneCounter("paceline_operator_queue_adds_total",
                                      "Times that a job was put into the work queue.")),
      queue_retries_(metrics->OneCounter("paceline_operator_queue_retries_total",
                                         "Times that a job was put back after an error.")),
      queue_wait_seconds_(metrics->OneHistogram("paceline_operator_queue_wait_seconds",
                                                "Time that a job waited in the work queue.",
                                                Decades())),
      is_leader_(metrics->OneGauge("paceline_operator_is_leader",
                                   "1 for the leader, 0 for an operator that stands by.")),
      jobs_(metrics->Gauges("paceline_operator_jobs", "Jobs by the state in their status.",
                            {"state"})),
      jobs_of_others_(metrics->OneGauge("paceline_operator_jobs_of_others",
                                        "Jobs that this operator sees and leaves alone, because "
                                        "another installation of Paceline has them.")),
      job_restarts_(metrics->Gauges("paceline_job_restarts",
                                    "Restarts of all processes of the job together.",
                                    {"namespace", "job"})) {}

void OperatorMetrics::Called(const kube::CallRecord& call) {
  calls_.With({call.verb, call.resource, std::to_string(call.code)}).Increment();
  if (call.verb != "watch") call_seconds_.With({call.verb}).Observe(call.seconds);
}

void OperatorMetrics::Reconciled(const kube::ReconcileRecord& record) {
  reconciles_.With({std::string(kube::ToString(record.outcome))}).Increment();
  reconcile_seconds_.Observe(record.seconds);
}

kube::WorkQueueMetrics OperatorMetrics::Queue() {
  return {.depth = [this](size_t depth) { queue_depth_.Set(static_cast<double>(depth)); },
          .added = [this] { queue_adds_.Increment(); },
          .waited = [this](double seconds) { queue_wait_seconds_.Observe(seconds); },
          .worked = {},
          .retried = [this] { queue_retries_.Increment(); }};
}

void OperatorMetrics::Leads(bool is_leading) { is_leader_.Set(is_leading ? 1 : 0); }

void OperatorMetrics::Count(const std::vector<kube::ObjectPtr>& jobs, size_t of_others) {
  jobs_of_others_.Set(static_cast<double>(of_others));
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> by_state;
  for (const std::string& state : states_) by_state[state] = 0;
  std::set<std::pair<std::string, std::string>> there;
  for (const kube::ObjectPtr& job : jobs) {
    const std::string state = kube::StringAt(*job, "/status/state");
    ++by_state[state.empty() ? "New" : state];
    there.emplace(kube::Namespace(*job), kube::Name(*job));
    job_restarts_.With({kube::Namespace(*job), kube::Name(*job)})
        .Set(static_cast<double>(kube::IntegerAt(*job, "/status/restarts")));
  }
  for (const auto& [state, count] : by_state) {
    states_.insert(state);
    jobs_.With({state}).Set(count);
  }
  for (const auto& [name_space, name] : known_jobs_) {
    if (!there.contains({name_space, name})) job_restarts_.Forget({name_space, name});
  }
  known_jobs_ = std::move(there);
}

}  // namespace paceline::controller
