#include "ps-server/port_file.h"

#include <filesystem>
#include <fstream>

namespace paceline::ps {

Status WritePort(const std::string& path, int port) {
  if (path.empty()) return OkStatus();
  const std::string partial = path + ".partial";
  {
    std::ofstream file(partial);
    file << port << '\n';
    if (!file.flush()) return Unavailable("cannot write the port: {}", partial);
  }
  std::error_code error;
  std::filesystem::rename(partial, path, error);
  if (error) return Unavailable("cannot write the port {}: {}", path, error.message());
  return OkStatus();
}

}  // namespace paceline::ps
