// Defines VolumeFolders: which folder of this machine stands for a claim of the job.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::local {

// One owner at a time.
class VolumeFolders {
 public:
  // `chosen`: CLAIM=DIR each; other claims are folders of `parent`. InvalidArgument if an entry is
  // no such pair or a claim comes twice.
  static StatusOr<VolumeFolders> Parse(const std::vector<std::string>& chosen,
                                       const std::string& parent);

  // An absolute path. Remembers that the job has this claim.
  std::string FolderOf(const std::string& claim);

  // NotFound if a folder was chosen for a claim that nobody has asked for.
  Status CheckAllUsed() const;

 private:
  VolumeFolders() = default;

  std::string parent_;
  std::map<std::string, std::string> chosen_;
  std::set<std::string> asked_;
};

}  // namespace paceline::local
