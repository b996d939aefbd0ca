// Token files: the numbers of a text's tokens one after the other, without a header.
#include <utility>

#include "lib/learn/data/readers.h"

namespace paceline::learn {

StatusOr<Columns> ReadTokens(const DatasetOptions& options) {
  const std::string& path = options.path;
  if (options.token_bytes != 2 && options.token_bytes != 4) {
    return InvalidArgument("token_bytes is {}, want 2 or 4", options.token_bytes);
  }
  if (options.window_tokens == 0) return InvalidArgument("window_tokens is 0, want at least 1");
  PACELINE_ASSIGN_OR_RETURN(const auto bytes, ReadWholeFile(path));
  if (bytes->size() % options.token_bytes != 0) {
    return InvalidArgument("{} has {} bytes, want a multiple of {}", path, bytes->size(),
                           options.token_bytes);
  }
  const uint64_t tokens = bytes->size() / options.token_bytes;
  if (tokens < 2 || tokens - 1 < options.window_tokens) {
    return InvalidArgument("{} has {} tokens, want at least {} for one window", path, tokens,
                           options.window_tokens + 1);
  }

  Column inputs;
  inputs.name = path;
  inputs.stored = options.token_bytes == 2 ? StoredType::kUint16 : StoredType::kInt32;
  inputs.shape = {static_cast<int64_t>(options.window_tokens)};
  inputs.rows = (tokens - 1) / options.window_tokens;
  inputs.stride_bytes = options.window_tokens * options.token_bytes;
  inputs.first = bytes->data();
  inputs.owner = bytes;
  Column targets = inputs;
  targets.first += options.token_bytes;
  return Columns{std::move(inputs), std::move(targets)};
}

}  // namespace paceline::learn
