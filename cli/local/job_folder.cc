#include "cli/local/job_folder.h"

#include <cerrno>
#include <cstring>
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
  std::error_code error;
  // Short, since a socket's path may have 107 characters at most.
  std::string private_path =
      std::filesystem::temp_directory_path(error).string() + "/paceline-XXXXXX";
  if (error || mkdtemp(private_path.data()) == nullptr) {
    return Unavailable("cannot make a private folder {}: {}", private_path, std::strerror(errno));
  }
  JobFolder folder(path, private_path, Lock(path));
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
      private_path_(std::exchange(other.private_path_, "")),
      lock_(std::exchange(other.lock_, -1)) {}

JobFolder::~JobFolder() {
  if (lock_ >= 0) close(lock_);
  if (private_path_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(private_path_, ignored);
}

}  // namespace paceline::local
