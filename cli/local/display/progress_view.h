// Defines ProgressView: the live progress line of a run; plain lines where nobody watches a
// terminal.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "cli/local/display/live_state.h"
#include "lib/base/time.h"

namespace paceline::local {

// "step 120  epoch 5.2  loss 0.2145  accuracy 96.4 %  2,913 samples/s  ETA 0:07"; what is not known
// yet is left out.
std::string ProgressLine(const LiveState& state);
// With a bar before it where there is room, and never longer than `columns`.
std::string TerminalLine(const LiveState& state, size_t columns);
// "0:07", "12:05", "3:02:01"
std::string ClockText(double seconds);
// "12,345"
std::string Thousands(uint64_t number);

class ProgressView {
 public:
  // `out` outlives this. On a terminal the line is redrawn in place; otherwise a line comes every
  // two seconds and when the phase changes.
  ProgressView(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}
  ~ProgressView() { Clear(); }

  void Show(const LiveState& state, Time now);
  void Note(const std::string& text);  // A line of its own, above the progress line.
  void Clear();                        // Leaves the cursor at the start of an empty line.

 private:
  std::FILE* out_;
  bool is_terminal_;
  bool is_drawn_ = false;
  std::string last_phase_;
  std::optional<Time> last_line_;
};

}  // namespace paceline::local
