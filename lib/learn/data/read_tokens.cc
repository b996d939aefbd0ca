// Token files: the numbers of a text's tokens one after the other, without a header.
#include <utility>

#include "lib/files/mapped_file.h"
#include "lib/learn/data/readers.h"

namespace paceline::learn {

StatusOr<Columns> ReadTokens(const std::string& path, const DatasetOptions& options) {
  const uint64_t window = options.window_tokens, token_bytes = options.token_bytes;
  if (token_bytes != 2 && token_bytes != 4) {
    return InvalidArgument("token_bytes is {}, want 2 or 4", token_bytes);
  }
  if (window == 0) return InvalidArgument("window_tokens is 0, want at least 1");
  PACELINE_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() % token_bytes != 0) {
    return InvalidArgument("{} has {} bytes, want a multiple of {}", path, bytes.size(),
                           token_bytes);
  }
  const uint64_t tokens = bytes.size() / token_bytes;
  if (tokens < 2 || tokens - 1 < window) {
    return InvalidArgument("{} has {} tokens, want at least {} for one window", path, tokens,
                           window + 1);
  }
  const StoredType stored = token_bytes == 2 ? StoredType::kUint16 : StoredType::kInt32;
  const std::vector<int64_t> shape = {static_cast<int64_t>(window)};
  const uint64_t windows = (tokens - 1) / window;
  return Columns{{ColumnOf(path, stored, shape, windows, bytes.data(), file)},
                 ColumnOf(path, stored, shape, windows, bytes.data() + token_bytes, file)};
}

}  // namespace paceline::learn
