#include "cli/local/job_folder.h"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/files/disk.h"
#include "lib/telemetry/access_token.h"

namespace paceline::local {
namespace {

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[32];
  (void)std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
  return text;
}

// A descriptor that locks the folder; -1 with errno if somebody else does, or it cannot be.
int Lock(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

}  // namespace

std::string JobFolder::NewPath(const std::string& parent, const std::string& job) {
  return fmt::format("{}/{}-{}-{}", std::filesystem::absolute(parent).lexically_normal().string(),
                     job, TimeText(), getpid());
}

StatusOr<JobFolder> JobFolder::Create(const std::string& path) {
  if (const Status made = files::MakeFolders(path + "/logs"); !made.ok())
    return Unavailable("cannot make the run's folder {}: {}", path, Message(made));
  PACELINE_ASSIGN_OR_RETURN(PrivateFolder made, MakePrivateFolder(PrivatePlaces()));
  StatusOr<Janitor> janitor = Janitor::Start(made.path);
  if (!janitor.ok()) {
    std::error_code ignored;
    std::filesystem::remove(made.path, ignored);
    return janitor.status();
  }
  JobFolder folder(path, std::move(made), *std::move(janitor), Lock(path));
  PACELINE_ASSIGN_OR_RETURN(const std::string token, telemetry::MakeToken());
  PACELINE_RETURN_IF_ERROR(telemetry::WriteTokenFile(folder.TokenFile(), token));
  return folder;
}

bool IsRunning(const std::string& run_folder) {
  const int lock = Lock(run_folder);
  if (lock < 0) return errno == EWOULDBLOCK;
  close(lock);
  return false;
}

JobFolder::JobFolder(JobFolder&& other) noexcept
    : path_(std::move(other.path_)),
      private_(std::exchange(other.private_, {})),
      janitor_(std::move(other.janitor_)),
      lock_(std::exchange(other.lock_, -1)) {}

JobFolder::~JobFolder() {
  if (lock_ >= 0) close(lock_);
  if (private_.path.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(private_.path, ignored);
}

}  // namespace paceline::local
