#include "operator/controller/coordinator/coordinator_call.h"

#include <mutex>
#include <utility>

namespace paceline::controller {
namespace {

constexpr size_t kAnswerMax = 4 << 20;

CoordinatorCall::Answer Read(const std::string& server, StatusOr<kube::Response> response) {
  if (!response.ok())
    return Unavailable("coordinator at {} does not answer: {}", server, Message(response.status()));
  // Who we are is no fault of what we say: a renewed Secret takes a minute to reach its pod.
  const bool is_unknown = response->code == 401 || response->code == 403;
  if (response->code >= 500 || is_unknown)
    return Unavailable("coordinator at {} answered {}: {}", server, response->code, response->body);
  if (response->code >= 400) {
    return FailedPrecondition("coordinator at {} answered {}: {}", server, response->code,
                              response->body);
  }
  return std::move(response->body);
}

}  // namespace

struct CoordinatorCall::State {
  std::mutex mutex;
  std::optional<Answer> answer;
};

void CoordinatorCall::Start(kube::Client& client, CoordinatorQuestion question,
                            std::function<void()> answered) {
  state_ = std::make_shared<State>();
  kube::Request request{.method = std::move(question.method),
                        .path = std::move(question.path),
                        .body = std::move(question.body),
                        .deadline = question.deadline};
  if (!request.body.empty()) request.content_type = "application/json";
  std::string server = question.server.server;
  handle_ =
      client.StartElsewhere(std::move(question.server), std::move(request), kAnswerMax,
                            [state = state_, server = std::move(server),
                             answered = std::move(answered)](StatusOr<kube::Response> response) {
                              {
                                const std::lock_guard lock(state->mutex);
                                state->answer = Read(server, std::move(response));
                              }
                              answered();
                            });
}

std::optional<CoordinatorCall::Answer> CoordinatorCall::Take() {
  if (state_ == nullptr) return std::nullopt;
  std::optional<Answer> answer;
  {
    const std::lock_guard lock(state_->mutex);
    answer = std::exchange(state_->answer, std::nullopt);
  }
  if (answer) state_.reset();
  return answer;
}

}  // namespace paceline::controller
