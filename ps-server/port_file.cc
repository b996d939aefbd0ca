#include "ps-server/port_file.h"

#include "lib/files/atomic_file.h"

namespace paceline::ps {

Status WritePort(const std::string& path, int port) {
  if (path.empty()) return OkStatus();
  return Annotate(files::WriteFile(path, fmt::format("{}\n", port)), "the port");
}

}  // namespace paceline::ps
