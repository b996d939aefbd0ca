// Defines Membership: which connection is which worker's, in which life, and when it was last
// heard.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/coordination/fact.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// One admitted worker or evaluator.
struct Session {
  ConnectionId connection;
  protocol::Role role = protocol::Role::kWorker;
  WorkerId worker;  // Of a worker; w0 for the evaluator.
  Incarnation incarnation;
  Time heard;
  std::optional<uint64_t> attempt = std::nullopt;  // Which process it is, by its Join.
};

// A value. One session a worker index, and one evaluator, at a time.
class Membership {
 public:
  struct Options {
    Duration heartbeat_period = Seconds(1);
    Duration silent_after = Seconds(6);
  };
  explicit Membership(const Options& options) : options_(options) {}

  // The next incarnation of that worker (or of the evaluator). Its seat must be free and its
  // connection new.
  Session Admit(ConnectionId connection, protocol::Role role, WorkerId worker, Time now,
                std::optional<uint64_t> attempt = std::nullopt);

  // The session is over; nothing if there is none. The worker's incarnations go on from where they
  // are.
  std::optional<Session> Remove(ConnectionId connection);

  // All sessions are over.
  void RemoveAll();

  // Any word of a member counts as a sign of life. False for a connection that is no member's.
  bool Heard(ConnectionId connection, Time now);

  // What is found is good until somebody is admitted or removed.
  const Session* Find(ConnectionId connection) const;
  const Session* FindWorker(WorkerId worker) const;
  const Session* evaluator() const;
  std::vector<Session> workers() const;  // In worker order.
  std::vector<Session> all() const;      // In order of connection.
  size_t workers_count() const { return seats_.size(); }

  // Whether it missed two heartbeats: not yet lost, but a newcomer of its index may take its seat.
  bool IsQuiet(const Session& session, Time now) const {
    return now - session.heard > 2 * options_.heartbeat_period;
  }
  std::vector<Session> Silent(Time now);  // Not heard for silent_after or longer.
  // Before that nobody falls silent. To look for who it will be at each word would cost more than
  // to look in vain now and then.
  std::optional<Time> Deadline() const;

  std::string Describe() const;  // Without times.

 private:
  Options options_;
  IdTable<ConnectionId, Session> sessions_;
  Time heard_least_ = Time::max();  // No session was last heard before that.
  IdTable<WorkerId, ConnectionId> seats_;
  std::optional<ConnectionId> evaluator_;
  IdTable<WorkerId, Incarnation> incarnations_;  // Newest issued.
  Incarnation evaluator_incarnation_;
};

}  // namespace paceline::coordination
