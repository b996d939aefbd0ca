#include "cli/commands/fetch/port_forward.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

namespace paceline::commands {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kListening = "Forwarding from 127.0.0.1:";
constexpr std::chrono::milliseconds kLook(20);
constexpr size_t kComplaintLines = 2;
constexpr size_t kComplaintBytesMax = 500;
constexpr size_t kOutputBytesMax = 64 << 10;  // Of its end, that is read.

bool IsInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool IsRoutine(std::string_view line) {
  return line.empty() || line.starts_with("Forwarding from ") ||
         line.starts_with("Handling connection for ");
}

std::vector<std::string> Arguments(const PortForwardOptions& options) {
  std::vector<std::string> arguments = {"kubectl", "port-forward", "--address=127.0.0.1",
                                        "--namespace=" + options.name_space};
  if (!options.kubeconfig.empty()) arguments.push_back("--kubeconfig=" + options.kubeconfig);
  if (!options.context.empty()) arguments.push_back("--context=" + options.context);
  arguments.push_back("pod/" + options.pod);
  arguments.push_back(fmt::format(":{}", options.port));
  return arguments;
}

Status WhyItEnded(const std::string& complaint) {
  const std::string text =
      "kubectl: " + (complaint.empty() ? "ended, and said nothing" : complaint);
  if (text.find("(Forbidden)") != std::string::npos) return PermissionDenied("{}", text);
  if (text.find("(NotFound)") != std::string::npos) return NotFound("{}", text);
  return Unavailable("{}", text);
}

}  // namespace

std::optional<int> ForwardedPort(std::string_view output) {
  const size_t found = output.find(kListening);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = output.substr(found + kListening.size());
  int port = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), port);
  // The line may not be whole yet.
  const bool is_whole = rest.substr(static_cast<size_t>(end - rest.data())).starts_with(" ->");
  if (error != std::errc() || !is_whole || port < 1 || port > 65535) return std::nullopt;
  return port;
}

std::string Complaint(std::string_view output) {
  std::vector<std::string> lines;
  std::istringstream text{std::string(output)};
  for (std::string line; std::getline(text, line);) {
    if (!IsRoutine(line)) lines.push_back(std::move(line));
  }
  std::string complaint;
  for (size_t i = lines.size() - std::min(lines.size(), kComplaintLines); i < lines.size(); ++i)
    complaint += (complaint.empty() ? "" : "; ") + lines[i];
  return complaint.substr(0, kComplaintBytesMax);
}

PortForward::~PortForward() { Close(); }

void PortForward::Close() {
  kubectl_.reset();
  if (output_ >= 0) close(output_);
  output_ = -1;
  port_.reset();
}

std::string PortForward::Output() const {
  if (output_ < 0) return "";
  const off_t size = std::max<off_t>(lseek(output_, 0, SEEK_END), 0);
  // Each connection is a line.
  const off_t from = std::max<off_t>(size - static_cast<off_t>(kOutputBytesMax), 0);
  std::string text(static_cast<size_t>(size - from), '\0');
  const ssize_t got = pread(output_, text.data(), text.size(), from);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

Status PortForward::Start() {
  if (!IsInPath("kubectl"))
    return NotFound("there is no kubectl in PATH: install it, or forward the port and name --url");
  output_ = memfd_create("kubectl", MFD_CLOEXEC);
  if (output_ < 0) return Unavailable("no file in memory: {}", std::strerror(errno));
  StatusOr<local::Child> child = local::Child::Start(
      {.arguments = Arguments(options_), .log_path = fmt::format("/proc/self/fd/{}", output_)});
  if (!child.ok()) return child.status();
  kubectl_ = *std::move(child);
  return OkStatus();
}

StatusOr<int> PortForward::Open() {
  // Its port may be somebody else's by now.
  if (kubectl_ && kubectl_->Poll()) Close();
  if (port_) return *port_;
  if (!kubectl_) {
    Close();
    PACELINE_RETURN_IF_ERROR(Start());
  }
  const Clock::time_point until = Clock::now() + options_.patience;
  for (;;) {
    const bool has_ended = kubectl_->Poll().has_value();
    const std::string output = Output();
    if (has_ended) {
      Close();
      return WhyItEnded(Complaint(output));
    }
    port_ = ForwardedPort(output);
    if (port_) return *port_;
    if (Clock::now() >= until) {
      Close();
      const std::string complaint = Complaint(output);
      return DeadlineExceeded("kubectl does not listen after {:g} s, and was stopped{}{}",
                              ToSeconds(options_.patience), complaint.empty() ? "" : ": ",
                              complaint);
    }
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace paceline::commands
