// Draws a comparison as SVG: loss, k and batch sizes over time.
#pragma once

#include <string>
#include <vector>

#include "lib/compare/verdict.h"

namespace paceline::compare {

// A whole SVG document: three panels one below the other with one common time axis, a colour an
// arm, its runs as lines of that colour; of batch sizes, whose panel is there where some are
// known, a line a worker. Losses and k are means
// over a few neighbouring commits, so that lines can be told apart. `title` stands above.
std::string PlotSvg(const std::vector<ArmRun>& runs, const std::string& title);

}  // namespace paceline::compare
