// Defines MadeUpKernel, for tests: folders with files as the kernel would write them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

#include "lib/worker/signals/cgroup.h"

namespace paceline::worker::testing {

class MadeUpKernel {
 public:
  MadeUpKernel() {
    std::string pattern = (std::filesystem::temp_directory_path() / "kernel-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
  }
  ~MadeUpKernel() { std::filesystem::remove_all(root_); }
  MadeUpKernel(const MadeUpKernel&) = delete;
  MadeUpKernel& operator=(const MadeUpKernel&) = delete;

  KernelPaths paths() const { return {.proc = root_ + "/proc", .cgroup = root_ + "/cgroup"}; }

  // `path` starts with proc/ or cgroup/.
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

 private:
  std::string root_;
};

}  // namespace paceline::worker::testing
