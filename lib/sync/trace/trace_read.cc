#include <map>

#include "lib/sync/trace/fields.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

Assignment TakeAssignment(Fields& fields) {
  Assignment assignment;
  assignment.samples = 1;
  fields.Take("samples", assignment.samples);
  fields.Take("steps-max", assignment.steps_max);
  fields.Take("lr", assignment.learning_rate_scale);
  fields.Take("pacing", assignment.pacing);
  fields.Take("on-pull", assignment.on_pull);
  fields.Take("momentum", assignment.momentum_on_pull);
  fields.Take("depth", assignment.depth);
  return assignment;
}

Event ReadJoin(Fields& fields) { return WorkerJoined{fields.Next<WorkerId>("worker")}; }

Event ReadLeave(Fields& fields) {
  WorkerLeft event{.worker = fields.Next<WorkerId>("worker")};
  event.reason = fields.Next<LeaveReason>("reason");
  return event;
}

Event ReadPush(Fields& fields) {
  PushArrived event{.worker = fields.Next<WorkerId>("worker"),
                    .sequence = fields.Next<Sequence>("sequence"),
                    .based_on = fields.Require<Version>("based-on"),
                    .samples = 1};
  fields.Take("steps", event.steps);
  fields.Take("samples", event.samples);
  fields.Take("loss", event.gradient.loss);
  fields.Take("norm2", event.gradient.squared_norm);
  event.gradient.is_finite = !fields.Flag("non-finite");
  event.gradient.is_excused = fields.Flag("excused");
  event.gradient.is_empty = fields.Flag("empty");
  fields.Take("compute", event.timing.compute);
  fields.Take("wait", event.timing.wait);
  fields.Take("communication", event.timing.communication);
  fields.Take("overlapped", event.timing.overlapped);
  fields.Take("injected", event.timing.injected);
  fields.Take("spread", event.spread);
  fields.Take("cpu", event.signals.cpu_available);
  fields.Take("memory", event.signals.memory_available);
  return event;
}

Event ReadAbandon(Fields& fields) {
  StepAbandoned event{.worker = fields.Next<WorkerId>("worker"),
                      .sequence = fields.Next<Sequence>("sequence"),
                      .reason = fields.Next<AbandonReason>("reason")};
  fields.Take("fit", event.samples_fit);
  return event;
}

Event ReadCommitted(Fields& fields) {
  StepCommitted event{.version = fields.Next<Version>("version")};
  fields.Take("rate", event.learning_rate);
  fields.Take("norm2", event.squared_norm);
  fields.Take("clip", event.clip_scale);
  return event;
}

Event ReadDeadline(Fields&) { return DeadlineReached{}; }

Event ReadOutOfData(Fields& fields) { return OutOfData{fields.Next<WorkerId>("worker")}; }

Event ReadSamplesReturned(Fields& fields) {
  return SamplesReturned{fields.Next<uint64_t>("samples")};
}

Event ReadQuiesce(Fields& fields) {
  Quiesce event{.reason = fields.Next<QuiesceReason>("reason"), .deadline = {}};
  event.deadline = Time(fields.Require<Duration>("deadline"));
  return event;
}

Event ReadSpare(Fields& fields) { return Spare{fields.Require<uint32_t>("budget")}; }

Decision ReadAccumulate(Fields& fields) {
  return Accumulate{.worker = fields.Next<WorkerId>("worker"),
                    .sequence = fields.Next<Sequence>("sequence"),
                    .weight = fields.Require<double>("weight")};
}

Decision ReadDrop(Fields& fields) {
  return Drop{.worker = fields.Next<WorkerId>("worker"),
              .sequence = fields.Next<Sequence>("sequence"),
              .reason = fields.Next<DropReason>("reason")};
}

Decision ReadCommit(Fields& fields) {
  Commit decision{.gradient_scale = fields.Require<double>("scale")};
  fields.Take("lr", decision.learning_rate_scale);
  if (fields.Flag("deltas")) decision.kind = PushKind::kDelta;
  decision.outer = TakeOuter(fields);
  return decision;
}

Decision ReadRelease(Fields& fields) {
  Release decision{.worker = fields.Next<WorkerId>("worker"), .version = {}};
  if (!fields.Flag("at")) fields.Fail("version is missing: want \"at v1\"");
  decision.version = fields.Next<Version>("version");
  decision.exactness = fields.Flag("exact") ? Exactness::kExact : Exactness::kAtLeast;
  fields.Take("includes", decision.includes);
  decision.assignment = TakeAssignment(fields);
  return decision;
}

Decision ReadOffer(Fields& fields) {
  return Offer{.worker = fields.Next<WorkerId>("worker"),
               .version = fields.Next<Version>("version")};
}

Decision ReadContinue(Fields& fields) {
  Continue decision{.worker = fields.Next<WorkerId>("worker"), .assignment = {}};
  decision.assignment = TakeAssignment(fields);
  return decision;
}

Decision ReadInterrupt(Fields& fields) { return Interrupt{fields.Next<WorkerId>("worker")}; }

Decision ReadExpel(Fields& fields) {
  return Expel{.worker = fields.Next<WorkerId>("worker"),
               .reason = fields.Next<ExpelReason>("reason")};
}

Decision ReadRollBack(Fields& fields) {
  return RollBack{.reason = fields.Next<RollBackReason>("reason")};
}

Decision ReadChosen(Fields& fields) {
  Chosen decision{.way = fields.Next<Way>("way")};
  decision.pushes = fields.Require<uint32_t>("pushes");
  decision.reason = fields.Require<ChoiceReason>("reason");
  decision.gain = fields.Require<double>("gain");
  return decision;
}

template <class T>
using Readers = std::map<std::string_view, T (*)(Fields&)>;

template <class T>
StatusOr<T> Read(std::string_view line, std::string_view kind, const Readers<T>& readers) {
  Fields fields(line);
  const auto name = fields.Next<std::string>(kind);
  const auto reader = readers.find(name);
  if (reader == readers.end()) return InvalidArgument("{} is unknown: {}", kind, line);
  T value = reader->second(fields);
  PACELINE_RETURN_IF_ERROR(Annotate(fields.Finish(), name));
  return value;
}

}  // namespace

StatusOr<Event> ParseEvent(std::string_view line) {
  if (line.starts_with(kTraceReconfigured)) {
    PACELINE_ASSIGN_OR_RETURN(const PolicySpec spec,
                              ParsePolicySpec(line.substr(kTraceReconfigured.size())));
    return Reconfigured{spec};
  }
  static const Readers<Event> kReaders = {
      {"join", ReadJoin},
      {"leave", ReadLeave},
      {"push", ReadPush},
      {"abandon", ReadAbandon},
      {"committed", ReadCommitted},
      {"deadline", ReadDeadline},
      {"out-of-data", ReadOutOfData},
      {"samples-returned", ReadSamplesReturned},
      {"quiesce", ReadQuiesce},
      {"spare", ReadSpare},
  };
  return Read(line, "event", kReaders);
}

StatusOr<Decision> ParseDecision(std::string_view line) {
  static const Readers<Decision> kReaders = {
      {"accumulate", ReadAccumulate}, {"drop", ReadDrop},   {"commit", ReadCommit},
      {"release", ReadRelease},       {"offer", ReadOffer}, {"continue", ReadContinue},
      {"interrupt", ReadInterrupt},   {"expel", ReadExpel}, {"roll-back", ReadRollBack},
      {"chosen", ReadChosen},
  };
  return Read(line, "decision", kReaders);
}

StatusOr<Time> ParseTime(std::string_view text) {
  Duration since_start{};
  if (text.empty() || text[0] != '@' || !ReadValue(text.substr(1), since_start)) {
    return InvalidArgument("time is not valid: got {}, want @ and seconds", text);
  }
  return Time(since_start);
}

StatusOr<std::string> DecodeHex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    const std::string_view digits = text.substr(i, 2);
    unsigned value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 2) {
      return InvalidArgument("not hexadecimal: {}", digits);
    }
    bytes += static_cast<char>(value);
  }
  return bytes;
}

}  // namespace paceline::sync
