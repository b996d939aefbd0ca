#include "ps-server/model/served_model.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/json_text.h"

namespace paceline::ps {
namespace {

using telemetry::HttpAnswer;
using telemetry::HttpRequest;

HttpAnswer Refusal(int status, std::string why) {
  return {.status = status, .body = std::move(why) + "\n"};
}

std::optional<uint64_t> NumberIn(const HttpRequest& request, const std::string& name) {
  const auto found = request.query.find(name);
  if (found == request.query.end()) return std::nullopt;
  uint64_t number = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [parsed, error] = std::from_chars(found->second.data(), end, number);
  if (error != std::errc() || parsed != end) return std::nullopt;
  return number;
}

StatusOr<std::string> ReadPiece(const std::string& path, uint64_t from, uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Unavailable("cannot open {}: {}", path, std::strerror(errno));
  std::string piece(bytes, '\0');
  uint64_t done = 0;
  int error_number = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(descriptor, piece.data() + done, bytes - done, static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_number = errno;
    if (got <= 0) break;
    done += static_cast<uint64_t>(got);
  }
  ::close(descriptor);
  if (error_number != 0)
    return Unavailable("cannot read {}: {}", path, std::strerror(error_number));
  if (done < bytes) return DataLoss("{} is shorter than it was", path);
  return piece;
}

}  // namespace

ServedModel::ServedModel(std::string path, telemetry::AccessToken token)
    : path_(std::move(path)), token_(std::move(token)) {}

void ServedModel::Written(store::FileDigest digest, size_t left_out) {
  const std::lock_guard lock(mutex_);
  digest_ = std::move(digest);
  left_out_ = left_out;
}

size_t ServedModel::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

std::optional<store::FileDigest> ServedModel::digest() const {
  const std::lock_guard lock(mutex_);
  return digest_;
}

bool ServedModel::is_fetched() const {
  const std::lock_guard lock(mutex_);
  return is_fetched_;
}

std::vector<telemetry::HttpRoute> ServedModel::Routes() {
  return {{kModelPath, [this](const HttpRequest& request) { return Give(request); }},
          {kModelPath, [this](const HttpRequest& request) { return TakeConfirmation(request); },
           "POST"}};
}

void ServedModel::Serve() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_fetched_ || is_stopped_; });
}

void ServedModel::StopServing() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  changed_.notify_all();
}

std::optional<HttpAnswer> ServedModel::Refuse(const HttpRequest& request) const {
  if (const Status welcome = token_.Admit(request); !welcome.ok())
    return Refusal(403, Message(welcome));
  if (!digest()) return Refusal(404, "there is no model yet");
  return std::nullopt;
}

HttpAnswer ServedModel::Give(const HttpRequest& request) {
  if (auto refusal = Refuse(request)) return *std::move(refusal);
  const uint64_t size = digest()->bytes;
  const std::optional<uint64_t> from = NumberIn(request, "from");
  const std::optional<uint64_t> bytes = NumberIn(request, "bytes");
  if (!from || !bytes || *bytes == 0 || *bytes > kModelPieceBytesMax) {
    return Refusal(400,
                   fmt::format("want from=OFFSET and bytes=COUNT, 1 to {}", kModelPieceBytesMax));
  }
  if (*from >= size)
    return Refusal(416, fmt::format("from={} is at or behind the end, {} bytes", *from, size));
  {
    const std::lock_guard lock(mutex_);
    if (pieces_ >= kModelPiecesAtOnceMax)
      return Refusal(429, "others are being given theirs; again in a moment");
    ++pieces_;
  }
  StatusOr<std::string> piece = ReadPiece(path_, *from, std::min(*bytes, size - *from));
  {
    const std::lock_guard lock(mutex_);
    --pieces_;
  }
  if (!piece.ok()) return Refusal(500, Message(piece.status()));
  return {.content_type = "application/octet-stream", .body = *std::move(piece)};
}

HttpAnswer ServedModel::TakeConfirmation(const HttpRequest& request) {
  if (auto refusal = Refuse(request)) return *std::move(refusal);
  const nlohmann::json body = JsonOrNone(request.body);
  if (!body.is_object() || !body.contains("sha256") || !body["sha256"].is_string())
    return Refusal(400, R"(want {"sha256": "..."})");
  const std::string said = body["sha256"].get<std::string>();
  if (const std::string sha256 = digest()->sha256; said != sha256)
    return Refusal(409, fmt::format("sha256 is {}, of the model {}", said, sha256));
  {
    const std::lock_guard lock(mutex_);
    is_fetched_ = true;
  }
  changed_.notify_all();
  return {.body = "fetched\n"};
}

}  // namespace paceline::ps
