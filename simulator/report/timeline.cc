#include "simulator/report/timeline.h"

#include <string_view>

#include <fmt/ostream.h>

namespace paceline::simulator {
namespace {

using What = Occurrence::What;

// The server's row comes first, then three of each worker, named and ordered so.
constexpr uint32_t kServer = 1;
enum Line : uint32_t { kComputes = 1, kPulls, kPushes };
constexpr uint32_t ProcessOf(uint32_t worker) { return worker + 2; }

// Times are in microseconds; all nanoseconds are kept.
std::string Microseconds(Duration time) {
  const int64_t nanoseconds = time.count();
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

void Name(std::ostream& out, std::string_view what, uint32_t process, uint32_t row,
          std::string_view name) {
  fmt::print(out,
             ",\n"
             R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":"{}"}}}})",
             what, process, row, name);
}

}  // namespace

Timeline::Timeline(std::ostream& out, size_t workers) : out_(out) {
  out_ << R"({"displayTimeUnit":"ms","traceEvents":[)"
       << R"({"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"server"}})";
  Name(out_, "thread_name", kServer, 1, "versions");
  for (uint32_t i = 0; i < workers; ++i) {
    Name(out_, "process_name", ProcessOf(i), 0, fmt::format("worker {}", i));
    Name(out_, "thread_name", ProcessOf(i), kComputes, "computes");
    Name(out_, "thread_name", ProcessOf(i), kPulls, "pulls");
    Name(out_, "thread_name", ProcessOf(i), kPushes, "pushes");
  }
}

Timeline::~Timeline() { out_ << "\n]}\n"; }

void Timeline::Add(const Occurrence& one) {
  const auto span = [&](std::string_view name, Line line) {
    fmt::print(out_,
               ",\n"
               R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{}}})",
               name, ProcessOf(one.worker), static_cast<uint32_t>(line),
               Microseconds(one.from.time_since_epoch()), Microseconds(one.to - one.from));
  };
  const auto moment = [&](std::string_view name, uint32_t process, std::string_view arguments) {
    fmt::print(out_,
               ",\n"
               R"({{"ph":"i","s":"t","name":"{}","pid":{},"tid":1,"ts":{},"args":{{{}}}}})",
               name, process, Microseconds(one.from.time_since_epoch()), arguments);
  };
  switch (one.what) {
    case What::kCompute:
      return span("step", kComputes);
    case What::kPull:
      return span("pull", kPulls);
    case What::kPush:
      return span("push", kPushes);
    case What::kGaveUp:
      return moment("gave up", ProcessOf(one.worker), "");
    case What::kDropped:
      return moment("dropped", ProcessOf(one.worker), fmt::format(R"("pushes":{})", one.pushes));
    case What::kPublished:
      return moment(ToString(one.version), kServer, fmt::format(R"("pushes":{})", one.pushes));
  }
}

}  // namespace paceline::simulator
