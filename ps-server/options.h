// Defines Options: what a parameter server process is told on its command line.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/time.h"

namespace paceline::ps {

// What to do with another run's checkpoints. A run always goes on from its own.
enum class ResumeWish {
  kAuto,    // Go on from them, unless that run ended well.
  kAlways,  // Go on from them; there must be some.
  kNever,   // Begin anew; they go as new ones come.
  // As in pods, where nobody is there to say: begin anew, in a folder of its own where there are
  // others' already, and take nothing of theirs away...
  kOwn,
  kFromClaim,  // ...or, where it has none of its own, go on from the newest that are there.
};

struct Options {
  std::string job_file;     // The resolved TrainingJob, JSON.
  uint32_t rank = 0;        // 0 coordinates.
  std::string listen;       // Where workers reach this process: unix:/path or host:port.
  std::string advertise;    // What others dial; empty: `listen`, with the port that was taken.
  std::string coordinator;  // Where rank 0 listens; unused by rank 0.
  Duration connect_timeout = std::chrono::seconds(600);  // Without a word of rank 0.
  std::string tls_folder;  // tls.crt, tls.key and ca.crt of the role; empty: plain text.
  std::string http_host = "127.0.0.1";
  int http_port = 0;
  // Rank 0: what opens the API where there is no TLS folder; with neither there is no API.
  std::string token_file;
  std::string api_host = "127.0.0.1";
  int api_port = 0;
  std::string api_port_file;
  std::string http_port_file;  // Gets the port number that was taken, when ready.
  // Processes that do not come are waited for, for a day: whoever starts them knows why.
  bool waits_for_processes = false;
  uint64_t generation_start = 1;
  Duration hang_floor = std::chrono::seconds(30);  // Rank 0: no step hangs that is shorter.
  std::string checkpoint;  // Folder of checkpoints, of this shard's volume; empty: none.
  // The checkpoints were not asked for: as many as cost next to nothing, on a disk that has room,
  // and gone when the job has succeeded.
  bool has_default_checkpoints = false;
  // Of those, rank 0: so far apart, whatever they cost. Zero: as the cost says.
  Duration default_checkpoint_period{};
  ResumeWish resume = ResumeWish::kAuto;
  std::string output;  // Rank 0: the final model's path.
  // Rank 0: it lies on a volume where other jobs' processes may write the same one (run_lock.h).
  // How long it waits for the end of one that does: of a job that is being deleted, say.
  std::optional<Duration> lock_output;
  // Rank 0: a model that is written is served until it was fetched, or SIGTERM; to whoever has the
  // token in token_file.
  bool serves_model = false;
  std::string summary;  // Rank 0: gets the last state of the job, JSON, before exit; empty: none.
  std::string final_state;          // Rank 0: likewise, but short, as the process's last word.
  std::string trace;                // Rank 0: the policy's trace; empty: none.
  std::string commit_log;           // Rank 0: which pushes made up each version; empty: none.
  std::string termination_message;  // Gets why the process failed; empty: nowhere.
};

}  // namespace paceline::ps
