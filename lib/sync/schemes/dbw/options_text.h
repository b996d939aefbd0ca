// Defines the text of DbwOptions within a PolicySpec's line: fields dbw-..., but for defaults.
#pragma once

#include "lib/base/status.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {

void AddTo(FieldWriter& line, const DbwOptions& options);
void TakeFrom(Fields& fields, DbwOptions& options);

// InvalidArgument if a knob is out of range.
Status Validate(const DbwOptions& options);

}  // namespace paceline::sync
