#include "tests/soak/keep.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace paceline::soak {
namespace {

namespace fs = std::filesystem;
using integration::ReadText;

std::string Threads(pid_t pid) {
  std::string text;
  std::error_code error;
  for (const fs::directory_entry& task :
       fs::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    const std::string path = task.path();
    std::string status = ReadText(path + "/status");
    const size_t state = status.find("State:");
    if (state != std::string::npos) status = status.substr(state, status.find('\n', state) - state);
    std::string name = ReadText(path + "/comm");
    if (!name.empty()) name.pop_back();
    text += fmt::format("  {} {} {} {}\n{}", task.path().filename().string(), name, status,
                        ReadText(path + "/wchan"), ReadText(path + "/stack"));
  }
  return text;
}

}  // namespace

void KeepProcesses(const integration::LiveRun& run, const std::string& folder) {
  std::ofstream file(folder + "/processes.txt");
  for (const pid_t pid : run.AllPids()) {
    std::string command = ReadText(fmt::format("/proc/{}/cmdline", pid));
    for (char& c : command) c = c == '\0' ? ' ' : c;
    file << pid << ' ' << command << '\n' << Threads(pid);
  }
  std::ofstream(folder + "/state.json") << run.Get("/v1/job") << '\n';
}

void KeepFiles(const std::vector<std::string>& folders, const std::string& to) {
  std::error_code ignored;
  fs::create_directories(to, ignored);
  for (const std::string& folder : folders)
    fs::copy(folder, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing,
             ignored);
}

}  // namespace paceline::soak
