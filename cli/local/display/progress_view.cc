#include "cli/local/display/progress_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "cli/local/display/print.h"
#include "lib/base/printable.h"

namespace paceline::local {
namespace {

constexpr Duration kPlainPeriod = std::chrono::seconds(2);
constexpr int kBarWidth = 24;

std::string Bar(double percent) {
  const int full = static_cast<int>(std::clamp(percent, 0.0, 100.0) / 100 * kBarWidth);
  return "[" + std::string(full, '=') + std::string(full < kBarWidth ? 1 : 0, '>') +
         std::string(std::max(kBarWidth - full - 1, 0), ' ') + "]";
}

size_t Columns(std::FILE* out) {
  constexpr size_t kUsual = 80;
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return kUsual;
  return size.ws_col;
}

std::string PhaseWords(const LiveState& state) {
  if (!state.standstill.empty()) return "standing still: " + state.standstill + "  ";
  if (state.phase == "startup") {
    return state.startup_waits_for.empty() ? "starting"
                                           : "starting: waiting for " + state.startup_waits_for;
  }
  if (state.phase == "training") return "";
  return state.model_problem.empty()
             ? "finishing  "
             : "finishing: the model is not written: " + state.model_problem + "  ";
}

}  // namespace

std::string ClockText(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(std::max(seconds, 0.0)));
  const int64_t hours = whole / 3600;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string Thousands(uint64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<size_t>(at), ",");
  return text;
}

std::string ProgressLine(const LiveState& state) {
  if (state.phase == "startup") return PhaseWords(state);
  std::string line =
      PhaseWords(state) + fmt::format("step {}  epoch {:.1f}", Thousands(state.step), state.epochs);
  if (state.loss && state.step > 0) line += fmt::format("  loss {:.4f}", *state.loss);
  if (state.accuracy) line += fmt::format("  accuracy {:.1f} %", 100 * *state.accuracy);
  line += fmt::format("  {} samples/s", Thousands(static_cast<uint64_t>(state.samples_per_second)));
  if (state.eta_seconds) line += "  ETA " + ClockText(*state.eta_seconds);
  return line;
}

std::string TerminalLine(const LiveState& state, size_t columns) {
  std::string line = ProgressLine(state);
  if (state.phase != "startup") {
    line = fmt::format("{:3.0f} %  {}", state.percent, line);
    const std::string bar = Bar(state.percent) + " ";
    if (bar.size() + line.size() <= columns) line = bar + line;
  }
  line = Printable(line);
  if (line.size() <= columns) return line;
  while (columns > 0 && (line[columns] & 0xC0) == 0x80) --columns;  // Within a character.
  return line.substr(0, columns);
}

void ProgressView::Show(const LiveState& state, Time now) {
  if (is_terminal_) {
    // One column is left free: some terminals wrap at the last one.
    fmt::print(out_, "\r\x1b[K{}", TerminalLine(state, Columns(out_) - 1));
    is_drawn_ = true;
  } else if (state.phase != last_phase_ || !last_line_ || now - *last_line_ >= kPlainPeriod) {
    Print(out_, "{:3.0f} %  {}\n", state.percent, ProgressLine(state));
    last_line_ = now;
    last_phase_ = state.phase;
  }
  std::fflush(out_);
}

void ProgressView::Note(const std::string& text) {
  Clear();
  Print(out_, "{}\n", text);
  std::fflush(out_);
}

void ProgressView::Clear() {
  if (!is_drawn_) return;
  fmt::print(out_, "\r\x1b[K");
  std::fflush(out_);
  is_drawn_ = false;
}

}  // namespace paceline::local
