// Defines Load: gives an operator jobs, and measures how fast their pods come and what that costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/bench/operator_contender.h"
#include "tests/bench/operator_nodes.h"
#include "tests/bench/operator_pods.h"
#include "tests/bench/process_usage.h"

namespace paceline::bench {

// How long pods took to come, by the clock and in CPU.
struct Creation {
  double seconds = 0;  // From the first request for a job until a watch has shown all pods.
  // What server, etcd, this program and the operator used meanwhile. Where they share few cores it
  // tells what `seconds` tells, and is told less by whatever else the machine does.
  double cpu_seconds = 0;
};

struct Measured {
  int pods = 0;
  Creation creation;
  // What the operator has used from the first request until all pods ran, or, without nodes, were
  // there.
  double cpu_seconds = 0;
  double resident_mb = 0;  // At the end of that.
  size_t writes = 0;

  double pods_per_second() const { return pods / creation.seconds; }
};

struct AtRest {
  double resident_mb = 0;
  double cpu_seconds = 0;
  size_t writes = 0;  // But those to its Lease.
};

// Cleans up behind each measurement. One thread.
class Load {
 public:
  // `nodes`: null if pods will not run. Both outlive this.
  Load(operator_test::World& world, FakeNodes* nodes);

  // Nothing if not all came in time.
  std::optional<Measured> Jobs(const Contender& contender, int jobs, int workers);
  // As many pods like `Jobs` left the last of, by a client with so many connections. The contender
  // looks on, as in the two others.
  std::optional<Measured> RawPods(const Contender& contender, int pods, int connections);
  // All that `Jobs` left the last time, jobs and what stands around their pods with them, by such a
  // client: what the server needs for it where no operator has to think.
  std::optional<Measured> RawObjects(const Contender& contender, int connections);
  // What it uses in so many seconds in which nothing happens.
  AtRest Rest(const Contender& contender, double seconds);
  // The same with so many suspended jobs, once it has seen them.
  std::optional<AtRest> SuspendedJobs(const Contender& contender, int jobs, double seconds);

 private:
  // From `start` until it has brought so many pods, with no scheduler at work.
  std::optional<Creation> Creating(const Contender& contender, int pods,
                                   const std::function<bool()>& start);
  double CpuOfAll(const Contender& contender) const;
  bool CreateJobs(const Contender& contender, const std::string& name_space, int jobs,
                  const JobShape& shape);
  bool KeepCopies(const Contender& contender, const std::string& name_space);
  bool CleanUp(const std::string& name_space, const kube::Resource* jobs);
  bool WaitForCalm() const;

  operator_test::World& world_;
  FakeNodes* const nodes_;
  PodWatch pods_, running_;
  struct Copy {
    kube::Resource resource;
    kube::Json object;
  };
  std::vector<Copy> copies_;  // Of a run of `Jobs`; the pods last.
};

}  // namespace paceline::bench
