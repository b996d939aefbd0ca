#include "lib/protocol/worker_messages.h"

namespace paceline::protocol {

WorkerMessage::WorkerMessage() = default;
WorkerMessage::WorkerMessage(const WorkerMessage& other) = default;
WorkerMessage::WorkerMessage(WorkerMessage&& other) noexcept = default;
WorkerMessage& WorkerMessage::operator=(const WorkerMessage& other) = default;
WorkerMessage& WorkerMessage::operator=(WorkerMessage&& other) noexcept = default;
WorkerMessage::~WorkerMessage() = default;

WorkerOrder::WorkerOrder() = default;
WorkerOrder::WorkerOrder(const WorkerOrder& other) = default;
WorkerOrder::WorkerOrder(WorkerOrder&& other) noexcept = default;
WorkerOrder& WorkerOrder::operator=(const WorkerOrder& other) = default;
WorkerOrder& WorkerOrder::operator=(WorkerOrder&& other) noexcept = default;
WorkerOrder::~WorkerOrder() = default;

}  // namespace paceline::protocol
