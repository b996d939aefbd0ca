// Names of checkpoints that lie in a folder of their run's own, beside other runs': such a name
// begins with it, "a1b2/000012-g1.0-v340", and one without lies in the volume's folder itself.
#pragma once

#include <string>
#include <vector>

namespace paceline::store {

// "a1b2/", with the slash; empty for a name without.
inline std::string RunFolderOf(const std::string& name) {
  return name.substr(0, name.rfind('/') + 1);  // npos + 1 is 0.
}

// The folder that holds it, below the volume's.
inline std::string FolderOfCheckpoint(const std::string& folder, const std::string& name) {
  return folder + "/" + RunFolderOf(name);
}

// Of `names`, those that lie where `name` does, without that folder.
inline std::vector<std::string> NamesBeside(const std::string& name,
                                            const std::vector<std::string>& names) {
  const std::string run_folder = RunFolderOf(name);
  std::vector<std::string> beside;
  for (const std::string& one : names) {
    if (RunFolderOf(one) == run_folder) beside.push_back(one.substr(run_folder.size()));
  }
  return beside;
}

}  // namespace paceline::store
