// Fields of spec.observability.
#pragma once

#include "lib/job/manifest/note.h"
#include "lib/job/manifest/spec/observability.h"

namespace paceline::job {

template <class V>
void Fields(V& visit, TraceFiles& trace) {
  visit("maxBytes", trace.max_bytes,
        Note{.text = "of all files of the trace, of which the first and the newest are kept; 0: no "
                     "trace. Unset: 268435456 on one machine, no trace in pods. In pods it lies in "
                     "spec.output.volume. Parameter servers that start later take a change",
             .min = 0,
             .max = 1e15});
}

template <class V>
void Fields(V& visit, LogFiles& logs) {
  visit("maxBytes", logs.max_bytes,
        Note{.text = "on one machine: of what each process printed, of which the newest is kept; a "
                     "cluster's nodes keep the logs of pods; processes that start later take a "
                     "change",
             .min = 65536,
             .max = 1e15});
}

template <class V>
void Fields(V& visit, Observability& observability) {
  visit("trace", observability.trace,
        Note{.text = "events and decisions of the synchronisation scheme, for paceline replay, "
                     "calibrate and advise"});
  visit("logs", observability.logs, Note{.text = "what processes print"});
}

}  // namespace paceline::job
