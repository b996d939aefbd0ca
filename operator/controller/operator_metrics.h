// Defines OperatorMetrics: what the operator counts and measures about itself and the jobs it sees.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/kube/client/client.h"
#include "lib/kube/runtime/controller.h"
#include "lib/kube/runtime/informer.h"
#include "lib/telemetry/metrics.h"

namespace paceline::controller {

// Thread-safe.
class OperatorMetrics {
 public:
  // `metrics` outlives this.
  explicit OperatorMetrics(telemetry::Metrics* metrics);

  void Called(const kube::CallRecord& call);
  void Reconciled(const kube::ReconcileRecord& record);
  kube::WorkQueueMetrics Queue();
  void Leads(bool is_leading);
  // The jobs there are now; those that were there before and are not any more are forgotten.
  // `of_others`: how many of them are left to another installation of Paceline.
  void Count(const std::vector<kube::ObjectPtr>& jobs, size_t of_others);

 private:
  telemetry::CounterFamily calls_;
  telemetry::HistogramFamily call_seconds_;
  telemetry::CounterFamily reconciles_;
  telemetry::Histogram reconcile_seconds_;
  telemetry::Gauge queue_depth_;
  telemetry::Counter queue_adds_;
  telemetry::Counter queue_retries_;
  telemetry::Histogram queue_wait_seconds_;
  telemetry::Gauge is_leader_;
  telemetry::GaugeFamily jobs_;
  telemetry::Gauge jobs_of_others_;
  telemetry::GaugeFamily job_restarts_;

  std::mutex mutex_;
  std::set<std::string> states_;
  std::set<std::pair<std::string, std::string>> known_jobs_;  // Namespace, name.
};

}  // namespace paceline::controller
