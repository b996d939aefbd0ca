// Writes docs/trainingjob.md from the notes of the fields.
#pragma once

#include <string>

namespace paceline::job {

// The whole page. A test compares it with the file; PACELINE_REWRITE=1 rewrites the file.
std::string DocsPage();

}  // namespace paceline::job
