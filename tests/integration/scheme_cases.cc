#include "tests/integration/scheme_cases.h"

namespace paceline::integration {

std::vector<SchemeCase> SchemeCases() {
  return {{"BackupWorkers", {"sync.scheme=BackupWorkers", "sync.backupWorkers.count=1"}},
          {"Ssp", {"sync.scheme=SSP", "sync.ssp.staleness=2"}},
          {"Asp", {"sync.scheme=ASP"}},
          {"BspNarx", {"sync.batchSizing.strategy=NARX"}},
          {"BspStepwise", {"sync.batchSizing.strategy=Stepwise"}},
          {"Dbw", {"sync.scheme=DBW"}},
          {"DbwEma", {"sync.scheme=DBW", "sync.batchSizing.strategy=EMA"}},
          // Steps that compute: between their pieces a late worker is interrupted, in its sleep it
          // is not.
          {"DbwInterrupting",
           {"sync.scheme=DBW", "sync.dbw.lateWorker=Interrupt", "chaos=null",
            "training.microBatchSize=1"}},
          {"Wbsp", {"sync.scheme=WBSP"}},
          {"WbspBasic", {"sync.scheme=WBSP", "sync.wbsp.overlap=false"}},
          {"PsPlus", {"sync.scheme=PSPlus", "sync.psPlus.staleness=2"}}};
}

LiveRun StartScheme(const TestFolder& folder, const SchemeCase& scheme,
                    std::vector<std::string> overrides) {
  for (const std::string& one : scheme.overrides) overrides.push_back("spec." + one);
  return LiveRun(folder, folder.Write("job.yaml", DigitsManifest()), Sets(overrides));
}

}  // namespace paceline::integration
