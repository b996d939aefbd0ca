#include "tests/integration/live_run.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"
#include "lib/base/testing/places.h"
#include "lib/telemetry/http_get.h"

namespace paceline::integration {
namespace {

namespace fs = std::filesystem;
// Short, because some of what tests look for passes.
bool Await(const std::function<bool()>& is_so, double timeout_seconds) {
  return testing::Eventually(is_so, timeout_seconds, std::chrono::milliseconds(10));
}

// PACELINE_PROGRAMS: a folder of others in their place (tests/python/host).
std::string Binary(const std::string& name) {
  const char* const others = std::getenv("PACELINE_PROGRAMS");
  return (others != nullptr ? std::string(others) : InBuild("bin")) + "/" + name;
}

pid_t Spawn(const std::vector<std::string>& arguments, const std::string& out,
            const std::string& err) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // A test that is killed leaves no job behind.
  const int out_descriptor = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  const int err_descriptor = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(out_descriptor, STDOUT_FILENO);
  dup2(err_descriptor, STDERR_FILENO);
  execv(raw[0], raw.data());
  _exit(127);
}

std::optional<int> PollExit(pid_t pid) {
  int status = 0;
  const pid_t got = waitpid(pid, &status, WNOHANG);
  if (got == 0) return std::nullopt;
  if (got < 0) return -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int WaitExit(pid_t pid, double timeout_seconds) {
  std::optional<int> code;
  const auto has_ended = [&] {
    code = PollExit(pid);
    return code.has_value();
  };
  if (Await(has_ended, timeout_seconds)) return *code;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return -1;
}

nlohmann::json ParseOrNull(const std::string& text) {
  return nlohmann::json::accept(text) ? nlohmann::json::parse(text) : nlohmann::json();
}

// The arguments of a process, each ended by a space; empty if it is gone.
std::string CommandLine(const fs::path& process) {
  std::string text = ReadText(process / "cmdline");
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  return text;
}

}  // namespace

TestFolder::TestFolder() {
  std::string path = fs::temp_directory_path() / "paceline-test-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) std::abort();
  path_ = path;
}

TestFolder::~TestFolder() {
  if (::testing::Test::HasFailure()) {
    fmt::print(stderr, "kept for a look: {}\n", path_);
    return;
  }
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TestFolder::Write(const std::string& name, const std::string& text) const {
  const std::string path = path_ + "/" + name;
  std::ofstream(path) << text;
  return path;
}

std::string ReadText(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string DigitsManifest() {
  const std::string data = InSource("deploy/samples/digits");
  return fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Mlp, inputShape: [1, 8, 8], classes: 10, hidden: 64, loss: CrossEntropy}}
  data: {{train: {0}/train.safetensors, eval: {0}/test.safetensors}}
  training:
    globalBatchSize: 64
    optimizer: {{type: SGD, sgd: {{momentum: 0.9}}}}
    learningRate: {{base: 0.05}}
    stop: {{maxEpochs: 2}}
    seed: 1
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 4}}
)",
                     data);
}

std::string SampleManifest() { return InSource("deploy/samples/digits.yaml"); }

std::vector<std::string> Paced(double seconds_per_sample, std::vector<std::string> overrides) {
  overrides.push_back("spec.chaos.enabled=true");
  overrides.push_back(fmt::format("spec.chaos.delays=[{{kind: PerSample, secondsPerSample: {}}}]",
                                  seconds_per_sample));
  return overrides;
}

std::vector<std::string> Sets(const std::vector<std::string>& overrides) {
  std::vector<std::string> arguments;
  for (const std::string& one : overrides) {
    arguments.push_back("--set");
    arguments.push_back(one);
  }
  return arguments;
}

LiveRun::LiveRun(const TestFolder& folder, const std::string& manifest_path,
                 const std::vector<std::string>& arguments)
    : folder_(folder.path()) {
  std::vector<std::string> all = {Binary("paceline"), "run", manifest_path, "-o", "json", "--runs",
                                  folder_ + "/runs"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  pid_ = Spawn(all, folder_ + "/out", folder_ + "/err");
}

LiveRun::LiveRun(std::string folder, const std::vector<std::string>& command)
    : folder_(std::move(folder)), pid_(Spawn(command, folder_ + "/out", folder_ + "/err")) {}

LiveRun::~LiveRun() {
  if (code_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

nlohmann::json LiveRun::WaitFor(const std::function<bool(const nlohmann::json&)>& is_reached,
                                double timeout_seconds) {
  nlohmann::json state;
  bool was_reached = false;
  Await(
      [&] {
        state = ParseOrNull(Get("/v1/job"));
        was_reached = state.is_object() && is_reached(state);
        return was_reached || HasEnded();
      },
      timeout_seconds);
  return was_reached ? state : nlohmann::json();
}

bool LiveRun::WaitForText(const std::string& text, double timeout_seconds) {
  return Await([&] { return ReadText(folder_ + "/err").find(text) != std::string::npos; },
               timeout_seconds);
}

std::vector<pid_t> LiveRun::AllPids() const {
  std::vector<pid_t> pids;
  const std::string marker = RunFolder() + "/job.json";
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (CommandLine(entry.path()).find(marker) != std::string::npos)
      pids.push_back(std::stoi(name));
  }
  return pids;
}

pid_t LiveRun::PidOf(const std::string& process) const {
  const size_t dash = process.rfind('-');
  const std::string role = process.substr(0, dash);
  const std::string number = dash == std::string::npos ? "" : process.substr(dash + 1);
  pid_t newest = 0;
  for (const pid_t pid : AllPids()) {
    const std::string command = CommandLine(fmt::format("/proc/{}", pid));
    const auto says = [&](const std::string& words) {
      return command.find(words) != std::string::npos;
    };
    const bool is_it = role == "ps"       ? says("--rank " + number + " ")
                       : role == "worker" ? says("--role worker --index " + number + " ")
                       : role == "evaluator"
                           ? says("--role " + process)
                           : says("--index " + number + " ") && says("--group " + role + " ");
    if (is_it) newest = std::max(newest, pid);
  }
  return newest;
}

bool LiveRun::MovesOn(const nlohmann::json& state, uint64_t steps) {
  const uint64_t goal = state["step"].get<uint64_t>() + steps;
  return !WaitFor([&](const auto& now) { return now["step"] >= goal; }).is_null();
}

bool LiveRun::WaitForNoProcess(double timeout_seconds) const {
  return Await([this] { return AllPids().empty(); }, timeout_seconds);
}

void LiveRun::Signal(int number) const { kill(pid_, number); }

std::optional<int> LiveRun::Port() const {
  const std::string err = ReadText(folder_ + "/err");
  const std::string marker = "http://127.0.0.1:";
  const size_t at = err.rfind(marker);  // Another life of the coordinator has another port.
  if (at == std::string::npos) return std::nullopt;
  return std::atoi(err.c_str() + at + marker.size());
}

int LiveRun::PortOf(const std::string& process) const {
  const std::string command = CommandLine(fmt::format("/proc/{}", PidOf(process)));
  const std::string flag = "--http-port-file ";
  const size_t at = command.find(flag);
  if (at == std::string::npos) return 0;
  const size_t begin = at + flag.size();
  return std::atoi(ReadText(command.substr(begin, command.find(' ', begin) - begin)).c_str());
}

std::string LiveRun::GetAt(int port, const std::string& path) const {
  return telemetry::HttpGet("127.0.0.1", port, path, std::chrono::seconds(2)).value_or("");
}

std::string LiveRun::Get(const std::string& path) const {
  const auto port = Port();
  return port ? GetAt(*port, path) : "";
}

std::string LiveRun::RunFolder() const {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_ + "/runs", error))
    return entry.path();
  return "";
}

std::string LiveRun::LogOf(const std::string& process) const {
  return ReadText(fmt::format("{}/logs/t-{}.log", RunFolder(), process));
}

bool LiveRun::HasEnded() {
  if (!code_) code_ = PollExit(pid_);
  return code_.has_value();
}

Ended LiveRun::Wait(double timeout_seconds) {
  if (!code_) code_ = WaitExit(pid_, timeout_seconds);
  Ended ended{.code = *code_, .out = ReadText(folder_ + "/out"), .err = ReadText(folder_ + "/err")};
  ended.summary = ParseOrNull(ended.out);
  ended.last_state = ParseOrNull(ReadText(RunFolder() + "/summary.json"));
  return ended;
}

Ended RunToEnd(const TestFolder& folder, const std::string& manifest_path,
               const std::vector<std::string>& arguments, double timeout_seconds) {
  return LiveRun(folder, manifest_path, arguments).Wait(timeout_seconds);
}

uint64_t SamplesOf(const nlohmann::json& state) {
  uint64_t samples = 0;
  for (const nlohmann::json& worker : state["workers"])
    samples += worker["samples"].get<uint64_t>();
  return samples;
}

void ExpectEverySampleOnce(const nlohmann::json& state, uint64_t epochs) {
  ASSERT_TRUE(state.is_object());
  const nlohmann::json& samples = state["trainSamples"];
  ASSERT_EQ(state["epochs"].size(), epochs);
  for (const nlohmann::json& epoch : state["epochs"]) {
    EXPECT_EQ(epoch["committed"], samples) << epoch;
    for (const char* place : {"free", "leased", "accumulated", "discarded"})
      EXPECT_EQ(epoch[place], 0) << epoch;
  }
  EXPECT_EQ(state["committedSamples"], epochs * samples.get<uint64_t>());
  EXPECT_EQ(SamplesOf(state), epochs * samples.get<uint64_t>());
}

pid_t SpawnProgram(const std::vector<std::string>& arguments, const std::string& out,
                   const std::string& err) {
  std::vector<std::string> all = arguments;
  all[0] = Binary(all[0]);
  return Spawn(all, out, err);
}

std::string ProgramPath(const std::string& name) { return Binary(name); }

int RunCommand(const std::string& shell_line) {
  const int status = std::system(("(" + shell_line + ") >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Ended RunProgram(const std::vector<std::string>& arguments, double timeout_seconds) {
  const TestFolder folder;
  const pid_t pid = SpawnProgram(arguments, folder.path() + "/out", folder.path() + "/err");
  Ended ended{.code = WaitExit(pid, timeout_seconds)};
  ended.out = ReadText(folder.path() + "/out");
  ended.err = ReadText(folder.path() + "/err");
  return ended;
}

}  // namespace paceline::integration
