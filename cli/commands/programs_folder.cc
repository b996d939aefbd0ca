#include "cli/commands/programs_folder.h"

#include <filesystem>
#include <system_error>

namespace paceline::commands {

namespace fs = std::filesystem;

std::string ProgramsFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : self.parent_path().string();
}

}  // namespace paceline::commands
