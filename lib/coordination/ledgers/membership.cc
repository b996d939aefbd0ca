#include "lib/coordination/ledgers/membership.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace paceline::coordination {

using protocol::Role;

Session Membership::Admit(ConnectionId connection, Role role, WorkerId worker, Time now,
                          std::optional<uint64_t> attempt) {
  PACELINE_CHECK(!sessions_.contains(connection), "{} has joined already", connection);
  Session session{connection, role, worker, Incarnation(), now, attempt};
  if (role == Role::kWorker) {
    PACELINE_CHECK(!seats_.contains(worker), "{} has a live session", worker);
    seats_[worker] = connection;
    session.incarnation = incarnations_[worker] = incarnations_[worker].Next();
  } else {
    PACELINE_CHECK(!evaluator_.has_value(), "there is an evaluator");
    evaluator_ = connection;
    session.worker = WorkerId();
    session.incarnation = evaluator_incarnation_ = evaluator_incarnation_.Next();
  }
  sessions_[connection] = session;
  heard_least_ = std::min(heard_least_, now);
  return session;
}

std::optional<Session> Membership::Remove(ConnectionId connection) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return std::nullopt;
  const Session session = found->second;
  sessions_.erase(connection);
  if (session.role == Role::kWorker) {
    seats_.erase(session.worker);
  } else {
    evaluator_.reset();
  }
  return session;
}

void Membership::RemoveAll() {
  sessions_.clear();
  seats_.clear();
  evaluator_.reset();
}

bool Membership::Heard(ConnectionId connection, Time now) {
  const auto found = sessions_.find(connection);
  if (found == sessions_.end()) return false;
  found->second.heard = now;
  return true;
}

const Session* Membership::Find(ConnectionId connection) const {
  const auto found = sessions_.find(connection);
  return found == sessions_.end() ? nullptr : &found->second;
}

const Session* Membership::FindWorker(WorkerId worker) const {
  const auto found = seats_.find(worker);
  return found == seats_.end() ? nullptr : Find(found->second);
}

const Session* Membership::evaluator() const {
  return evaluator_.has_value() ? Find(*evaluator_) : nullptr;
}

std::vector<Session> Membership::workers() const {
  std::vector<Session> sessions;
  for (const auto& [worker, connection] : seats_) sessions.push_back(*Find(connection));
  return sessions;
}

std::vector<Session> Membership::all() const {
  std::vector<Session> sessions;
  for (const auto& [connection, session] : sessions_) sessions.push_back(session);
  return sessions;
}

std::vector<Session> Membership::Silent(Time now) {
  std::vector<Session> silent;
  if (const auto deadline = Deadline(); !deadline || now < *deadline) return silent;
  heard_least_ = Time::max();
  for (const auto& [connection, session] : sessions_) {
    heard_least_ = std::min(heard_least_, session.heard);
    if (now - session.heard >= options_.silent_after) silent.push_back(session);
  }
  return silent;
}

std::optional<Time> Membership::Deadline() const {
  if (sessions_.empty()) return std::nullopt;
  return heard_least_ + options_.silent_after;
}

std::string Membership::Describe() const {
  std::string text = "members";
  for (const auto& [connection, session] : sessions_) {
    text += fmt::format(" {}{}{}", session.role == Role::kWorker ? "" : "eval:", session.worker,
                        session.incarnation);
  }
  return text;
}

}  // namespace paceline::coordination
