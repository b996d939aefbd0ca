#include "tests/integration/scheme_cases.h"

#include <utility>

namespace paceline::integration {

std::vector<SchemeCase> SchemeCases() {
  return {
      {"BackupWorkers", {"sync.scheme=BackupWorkers", "sync.backupWorkers.count=1"}},
      {"Ssp", {"sync.scheme=SSP", "sync.ssp.staleness=2"}},
      {"Asp", {"sync.scheme=ASP"}},
      {"BspNarx", {"sync.batchSizing.strategy=NARX"}},
      {"BspStepwise", {"sync.batchSizing.strategy=Stepwise"}},
      {"Dbw", {"sync.scheme=DBW"}},
      {"DbwEma", {"sync.scheme=DBW", "sync.batchSizing.strategy=EMA"}},
      {"DbwInterrupting", {"sync.scheme=DBW", "sync.dbw.lateWorker=Interrupt"}},
      // Steps that compute, and are given up between their pieces or within one.
      {"DbwInterruptingSteps",
       {"sync.scheme=DBW", "sync.dbw.lateWorker=Interrupt", "chaos=null",
        "training.microBatchSize=1"}},
      {"Wbsp", {"sync.scheme=WBSP"}},
      {"WbspBasic", {"sync.scheme=WBSP", "sync.wbsp.overlap=false"}},
      {"PsPlus", {"sync.scheme=PSPlus", "sync.psPlus.staleness=2"}},
      {"KBatchAsync", {"sync.scheme=KBatchAsync", "sync.quorum=3"}},
      {"Auto", {"sync.scheme=Auto", "training.optimizer.sgd.momentum=0"}},
      {"BackupWeighing", {"sync.scheme=BackupWorkers", "sync.late=Weigh"}},
      {"DbwNarxEager",
       {"sync.scheme=DBW", "sync.dbw.method=Blind", "sync.meanwhile=EagerPull",
        "sync.batchSizing.strategy=NARX"}},
      {"DbwLocalSteps", {"sync.scheme=DBW", "sync.dbw.method=Blind", "sync.meanwhile=LocalSteps"}}};
}

LiveRun EverySchemeTest::Start(std::vector<std::string> overrides) const {
  return StartJob(folder_.Write("job.yaml", DigitsManifest()), std::move(overrides));
}

LiveRun EverySchemeTest::StartSample(std::vector<std::string> overrides) const {
  return StartJob(SampleManifest(), std::move(overrides));
}

LiveRun EverySchemeTest::StartJob(const std::string& manifest_path,
                                  std::vector<std::string> overrides) const {
  for (const std::string& one : GetParam().overrides) overrides.push_back("spec." + one);
  return LiveRun(folder_, manifest_path, Sets(overrides));
}

}  // namespace paceline::integration
