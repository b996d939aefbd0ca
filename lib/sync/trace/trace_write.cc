#include <fmt/format.h>

#include "lib/sync/trace/fields.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync {
namespace {

void AddAssignment(const Assignment& assignment, FieldWriter& line) {
  const Assignment defaults;
  line.AddUnless(1u, "samples", assignment.samples)
      .AddUnless(defaults.steps_max, "steps-max", assignment.steps_max)
      .AddUnless(defaults.learning_rate_scale, "lr", assignment.learning_rate_scale)
      .AddUnless(defaults.pacing, "pacing", assignment.pacing)
      .AddUnless(defaults.on_pull, "on-pull", assignment.on_pull)
      .AddUnless(defaults.momentum_on_pull, "momentum", assignment.momentum_on_pull)
      .AddUnless(defaults.depth, "depth", assignment.depth);
}

std::string Line(const WorkerJoined& e) { return fmt::format("join {}", e.worker); }
std::string Line(const WorkerLeft& e) {
  return fmt::format("leave {} {}", e.worker, ToString(e.reason));
}
std::string Line(const PushArrived& e) {
  FieldWriter line(fmt::format("push {} {}", e.worker, e.sequence));
  line.Add("based-on", e.based_on).AddUnless(1u, "steps", e.steps);
  line.AddUnless(1u, "samples", e.samples);
  line.AddUnless(0.0, "loss", e.gradient.loss).AddUnless(0.0, "norm2", e.gradient.squared_norm);
  if (!e.gradient.is_finite) line.AddWord("non-finite");
  if (e.gradient.is_excused) line.AddWord("excused");
  if (e.gradient.is_empty) line.AddWord("empty");
  line.AddUnless(Duration{}, "compute", e.timing.compute)
      .AddUnless(Duration{}, "wait", e.timing.wait)
      .AddUnless(Duration{}, "communication", e.timing.communication)
      .AddUnless(Duration{}, "overlapped", e.timing.overlapped)
      .AddUnless(Duration{}, "injected", e.timing.injected);
  line.AddUnless(0u, "spread", e.spread);
  if (e.signals.cpu_available) line.Add("cpu", *e.signals.cpu_available);
  if (e.signals.memory_available) line.Add("memory", *e.signals.memory_available);
  return line.Take();
}
std::string Line(const StepAbandoned& e) {
  FieldWriter line(fmt::format("abandon {} {} {}", e.worker, e.sequence, ToString(e.reason)));
  return line.AddUnless(0u, "fit", e.samples_fit).Take();
}
std::string Line(const StepCommitted& e) {
  FieldWriter line(fmt::format("committed {}", e.version));
  return line.AddUnless(0.0, "rate", e.learning_rate)
      .AddUnless(0.0, "norm2", e.squared_norm)
      .AddUnless(1.0, "clip", e.clip_scale)
      .Take();
}
std::string Line(const DeadlineReached&) { return "deadline"; }
std::string Line(const OutOfData& e) { return fmt::format("out-of-data {}", e.worker); }
std::string Line(const SamplesReturned& e) { return fmt::format("samples-returned {}", e.samples); }
std::string Line(const Quiesce& e) {
  FieldWriter line(fmt::format("quiesce {}", ToString(e.reason)));
  return line.Add("deadline", e.deadline.time_since_epoch()).Take();
}
std::string Line(const Spare& e) { return fmt::format("spare budget={}", e.budget); }
std::string Line(const Reconfigured& e) {
  return fmt::format("{}{}", kTraceReconfigured, FormatPolicySpec(e.spec));
}

std::string Line(const Accumulate& d) {
  return fmt::format("accumulate {} {} weight={}", d.worker, d.sequence, d.weight);
}
std::string Line(const Drop& d) {
  return fmt::format("drop {} {} {}", d.worker, d.sequence, ToString(d.reason));
}
std::string Line(const Commit& d) {
  FieldWriter line("commit");
  line.Add("scale", d.gradient_scale).AddUnless(1.0, "lr", d.learning_rate_scale);
  if (d.kind == PushKind::kDelta) line.AddWord("deltas");
  if (d.outer) AddTo(line, *d.outer);
  return line.Take();
}
std::string Line(const Release& d) {
  FieldWriter line(fmt::format("release {} at {}", d.worker, d.version));
  if (d.exactness == Exactness::kExact) line.AddWord("exact");
  if (d.includes) line.Add("includes", *d.includes);
  AddAssignment(d.assignment, line);
  return line.Take();
}
std::string Line(const Offer& d) { return fmt::format("offer {} {}", d.worker, d.version); }
std::string Line(const Continue& d) {
  FieldWriter line(fmt::format("continue {}", d.worker));
  AddAssignment(d.assignment, line);
  return line.Take();
}
std::string Line(const Interrupt& d) { return fmt::format("interrupt {}", d.worker); }
std::string Line(const Expel& d) {
  return fmt::format("expel {} {}", d.worker, ToString(d.reason));
}
std::string Line(const Chosen& d) {
  return FieldWriter(fmt::format("chosen {}", ToString(d.way)))
      .Add("pushes", d.pushes)
      .Add("reason", d.reason)
      .Add("gain", d.gain)
      .Take();
}
std::string Line(const RollBack& d) { return fmt::format("roll-back {}", ToString(d.reason)); }

}  // namespace

std::string FormatEvent(const Event& event) {
  return std::visit([](const auto& e) { return Line(e); }, event);
}

std::string FormatDecision(const Decision& decision) {
  return std::visit([](const auto& d) { return Line(d); }, decision);
}

std::string FormatTime(Time time) { return "@" + FormatSeconds(time.time_since_epoch()); }

std::string EncodeHex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace paceline::sync
