#include "lib/process/exit.h"

#include <cstdio>

#include <fmt/format.h>

namespace paceline::process {

int ExitCodeFor(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitDone;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied:
    case StatusCode::kOutOfRange:
    case StatusCode::kUnimplemented:
      return kExitCannotWork;
    default:
      return kExitFailed;
  }
}

int EndProcess(const Status& status, const std::string& program, const std::string& path) {
  if (!status.ok()) {
    const std::string words = Message(status);
    fmt::print(stderr, "{}: {}\n", program, words);
    if (!path.empty()) {
      if (std::FILE* file = std::fopen(path.c_str(), "w"); file != nullptr) {
        fmt::print(file, "{}\n", words);
        std::fclose(file);
      }
    }
  }
  return ExitCodeFor(status);
}

}  // namespace paceline::process
