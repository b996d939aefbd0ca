// Defines ServedModel: the final model's file, which a finished job's coordinator gives to whoever
// has the job's token, in pieces, until somebody has all of it (docs/adr/0030).
//
//   GET /v1/model?from=OFFSET&bytes=COUNT   so many bytes from there on, fewer at the end
//   POST /v1/model {"sha256": "..."}        whoever says this has the whole of it: 409 if not
//
// Both for whoever shows the job's token (telemetry::AccessToken), and 403 for all others.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "lib/store/sha256.h"
#include "lib/telemetry/access_token.h"
#include "lib/telemetry/http_endpoint.h"

namespace paceline::ps {

// One answer is never longer: a thread of the endpoint is busy with it for so long only, however
// large the model is and however slow who fetches it.
inline constexpr uint64_t kModelPieceBytesMax = 4 << 20;
// Answers with more than the probes' share of the endpoint's threads are refused with 429.
inline constexpr int kModelPiecesAtOnceMax = 2;

inline constexpr const char* kModelPath = "/v1/model";

// Thread-safe.
class ServedModel {
 public:
  // `path`: of the model's file, once Written says that it is there.
  ServedModel(std::string path, telemetry::AccessToken token);

  // The file is written and closed, has this digest, and lacks so many frozen parameters.
  void Written(store::FileDigest digest, size_t left_out = 0);
  size_t left_out() const;                          // 0 before that.
  std::optional<store::FileDigest> digest() const;  // Nothing before that.
  bool is_fetched() const;

  // The two above. This outlives the endpoint that has them.
  std::vector<telemetry::HttpRoute> Routes();

  // Blocks until somebody has the model and has said so, or until StopServing.
  void Serve();
  void StopServing();  // From any thread; at once.

 private:
  telemetry::HttpAnswer Give(const telemetry::HttpRequest& request);
  telemetry::HttpAnswer TakeConfirmation(const telemetry::HttpRequest& request);
  // What is wrong with a request in any case; nothing: it may be answered.
  std::optional<telemetry::HttpAnswer> Refuse(const telemetry::HttpRequest& request) const;

  const std::string path_;
  const telemetry::AccessToken token_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<store::FileDigest> digest_;
  size_t left_out_ = 0;
  int pieces_ = 0;  // That are being read.
  bool is_fetched_ = false;
  bool is_stopped_ = false;
};

}  // namespace paceline::ps
