// Defines Options: what a parameter server process is told on its command line.
#pragma once

#include <cstdint>
#include <string>

namespace paceline::ps {

struct Options {
  std::string job_file;     // The resolved TrainingJob, JSON.
  uint32_t rank = 0;        // 0 coordinates.
  std::string listen;       // Where workers reach this process: unix:/path or host:port.
  std::string coordinator;  // Where rank 0 listens; unused by rank 0.
  std::string http_host = "127.0.0.1";
  int http_port = 0;
  std::string http_port_file;  // Gets the port number that was taken, when ready.
  uint64_t generation_start = 1;
  std::string output;   // Rank 0: the final model's path.
  std::string summary;  // Rank 0: gets the last state of the job, JSON, before exit; empty: none.
  std::string final_state;          // Rank 0: likewise, but short, as the process's last word.
  std::string trace;                // Rank 0: the policy's trace; empty: none.
  std::string termination_message;  // Gets why the process failed; empty: nowhere.
};

}  // namespace paceline::ps
