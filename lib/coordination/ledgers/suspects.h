// Defines Suspects: which ranges of samples may be poisoned, found by whom they made ill.
//
// A range is accused by a worker whose push of it was not finite, or whose step of it ended the
// process. Accused by two different workers it is convicted, and split; a part needs one accusation
// more. A single position that is convicted is poisoned. Whatever is committed is acquitted. What
// is convicted only by what was said of a range that it is a piece of becomes a part, and no more.
//
// Two accusations tell of a range only where each accuser had nothing else at hand: a suspect goes
// by itself to a worker that has pushed all it had, and that gets nothing more before it pushes
// that (LeaseLedger::Grant).
//
// A push may also be ill because its worker is, or the model. So such an accusation counts only for
// a worker that makes a finite push as well, right before it or at any time after it: a model that
// is ill, and a worker that is, convict nothing.
//
// Where nothing else is left to train on, no finite push will come any more. Then a range goes to
// others by the word of a worker whose push before was finite, and two such words convict.
//
// Example:
//   Suspects suspects;
//   suspects.Accuse({0, 8, 12}, WorkerId(1), Suspects::Word::kCounts);
//   suspects.Accuse({0, 8, 12}, WorkerId(2), Suspects::Word::kCounts);
//   suspects.Convict(...);  // Four suspects now, of one position each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// A value. Ranges of one epoch never overlap.
class Suspects {
 public:
  // kUnlessModel: the worker was well right before; the model may be ill since.
  enum class Word { kCounts, kUnlessModel, kNotYet };
  void Accuse(const protocol::SampleRange& range, WorkerId worker, Word word);
  // Its samples are in a published version.
  void Acquit(const protocol::SampleRange& range);
  // A position of it is known to be poisoned: what else stood beside that is not suspected for it.
  void Forget(uint64_t epoch, uint64_t position);
  // It has made a finite push: its accusations count from now on.
  void Believe(WorkerId worker);
  // It was the model's fault that its last pushes were ill: they count only once it is believed.
  void Doubt(WorkerId worker);
  // Whether nothing but suspects is left.
  void SetLast(bool is_last);

  // Whether `worker` is not to blame for a push of that range that is not finite: the range has
  // made another one ill before.
  bool IsExcuse(const protocol::SampleRange& range, WorkerId worker) const;

  // Splits what is convicted and of which `is_free` says so. Returns the positions that are
  // poisoned; they are forgotten here.
  std::vector<protocol::SampleRange> Convict(
      const std::function<bool(const protocol::SampleRange&)>& is_free);

  // The first suspect of which `is_free` says so that `worker` is to try. kNew: one that another
  // accused whose word counts, and it did not. Where there is nothing else to do: kLast, one that
  // another accused whose word counts unless the model is ill; then kAny, one that it accused
  // itself while its own word does not count, or that is for nobody of `others`. At most `samples`
  // of it, split off.
  enum class Whose { kNew, kLast, kAny };
  std::optional<protocol::SampleRange> Pick(
      WorkerId worker, const std::vector<WorkerId>& others, uint64_t samples, Whose whose,
      const std::function<bool(const protocol::SampleRange&)>& is_free);
  bool IsSuspect(const protocol::SampleRange& range) const { return At(range) != nullptr; }

  // The first part of [begin, end) that holds no suspect; empty if there is none.
  protocol::SampleRange Unsuspected(const protocol::SampleRange& range) const;

  bool empty() const { return epochs_.empty(); }
  // Grows whenever others than before may be to try what is suspected, or what no longer is.
  uint64_t changes() const { return changes_; }
  std::string Describe() const;  // Equal for equal suspects.

 private:
  struct Accusation {
    WorkerId worker;
    bool counts = false;
    bool counts_at_last = false;  // Where nothing but suspects is left.
    bool is_of_more = false;      // It was said of a range of which this is a piece.
  };
  struct Suspect {
    uint64_t end = 0;
    bool is_part = false;  // Of a range that was convicted.
    bool is_last = false;  // Nothing but suspects is left.
    std::vector<Accusation> accusations;
  };
  using Epoch = std::map<uint64_t, Suspect>;  // By begin.

  static const Accusation* FindAccusation(const Suspect& suspect, WorkerId worker);
  static bool HasAccused(const Suspect& suspect, WorkerId worker);
  static bool IsTrusted(const Suspect& suspect);
  static bool IsFor(const Suspect& suspect, WorkerId worker);
  static bool IsLastFor(const Suspect& suspect, WorkerId worker);
  static bool IsConvicted(const Suspect& suspect);
  static bool IsAccusedAlone(const Suspect& suspect);
  static bool MayTry(const Suspect& suspect, WorkerId worker, const std::vector<WorkerId>& others,
                     Whose whose);
  const Suspect* At(const protocol::SampleRange& range) const;
  // Keeps the first `samples` of it; what was said of the whole is said of more than either piece.
  static protocol::SampleRange Cut(Epoch& epoch, uint64_t number, uint64_t begin, uint64_t samples);

  std::map<uint64_t, Epoch> epochs_;
  uint64_t changes_ = 0;
};

}  // namespace paceline::coordination
