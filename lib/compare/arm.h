// Defines Arm: one way to run the job in a comparison, and the words that name it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::compare {

struct Arm {
  std::string name;                    // As it was asked for, such as "ssp:3".
  std::vector<std::string> overrides;  // PATH=VALUE each, as for --set.
  friend bool operator==(const Arm&, const Arm&) = default;
};

// "bsp,ssp:3,wbsp:overlap,dbw:blind+eager+narx": names separated by commas. Behind the colon stands
// the scheme's knob (ArmWords lists them), behind each plus a part of it that is to be another. A
// scheme without a word of its own is named as in manifests, in small letters, with its K behind
// the colon. InvalidArgument, naming the word and those that would be right, for anything else, for
// a name that comes twice and for none.
StatusOr<std::vector<Arm>> ParseArms(std::string_view text);

// All names with their knobs, for people: "bsp, ssp[:STALENESS], ...".
std::string ArmWords();

}  // namespace paceline::compare
