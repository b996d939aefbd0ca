#include "python/native/paceline_worker.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/native/hosted_worker.h"
#include <fmt/format.h>

#include "lib/process/exit.h"
#include "lib/rpc/bulk/allocator.h"
#include "lib/telemetry/log.h"

using paceline::Status;
using paceline::StatusCode;
using paceline::StatusOr;
using paceline::python::HostedWorker;
using paceline::rpc::VersionWindow;
using paceline::worker::HostedWork;

struct paceline_session {
  std::unique_ptr<HostedWorker> worker;
  std::vector<size_t> places;  // In the layout, of the caller's tensors.
  HostedWork work;
  std::string reason;
};

struct paceline_memory {
  std::shared_ptr<VersionWindow> window;
};

namespace {

thread_local std::string last_error;

int CodeOf(const Status& status) {
  if (paceline::process::ExitCodeFor(status) == paceline::process::kExitCannotWorkHere)
    return PACELINE_HERE;
  if (paceline::Detail(status, paceline::worker::kHoldsFrozenDetail)) return PACELINE_HOLDS_FROZEN;
  switch (status.code()) {
    case StatusCode::kOk:
      return PACELINE_OK;
    case StatusCode::kPermissionDenied:
    case StatusCode::kNotFound:
      return PACELINE_REFUSED;
    case StatusCode::kUnavailable:
      return PACELINE_LOST;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange:
    case StatusCode::kFailedPrecondition:
      return PACELINE_INVALID;
    default:
      return PACELINE_FAILED;
  }
}

int Said(const Status& status) {
  if (status.ok()) return PACELINE_OK;
  last_error = paceline::Message(status);
  return CodeOf(status);
}

int NotOpened(const Status& status) {
  const int code = Said(status);
  return status.code() == StatusCode::kFailedPrecondition ? PACELINE_NO_JOB : code;
}

int Invalid(std::string words) {
  last_error = std::move(words);
  return PACELINE_INVALID;
}

StatusOr<paceline::store::Layout> LayoutOf(const paceline_tensor* tensors, size_t count) {
  using paceline::store::DataType;
  using paceline::store::TensorKind;
  std::vector<paceline::store::TensorSpec> specs;
  for (size_t i = 0; i < count; ++i) {
    const paceline_tensor& tensor = tensors[i];
    specs.push_back(
        {.name = tensor.name,
         .shape = {tensor.shape, tensor.shape + tensor.dimensions},
         .type = tensor.type == PACELINE_INT64 ? DataType::kInt64 : DataType::kFloat32,
         .kind = tensor.kind == PACELINE_BUFFER ? TensorKind::kBuffer : TensorKind::kParameter});
  }
  return paceline::store::Layout::Create(specs);
}

// Nothing is in work that could be done with: the caller's mistake.
bool Has(const paceline_session* session, HostedWork::Kind kind) {
  return session->worker->taken() == kind;
}

int NotTaken() { return Invalid("there is no such work to be done with"); }

}  // namespace

int paceline_abi(void) { return PACELINE_ABI; }

const char* paceline_error(void) { return last_error.c_str(); }

void paceline_tune_allocator(void) { paceline::rpc::TuneAllocator(); }

int paceline_arrange(paceline_tensor* tensors, size_t count, uint64_t* total_bytes) {
  const StatusOr<paceline::store::Layout> layout = LayoutOf(tensors, count);
  if (!layout.ok()) return Said(layout.status());
  for (const paceline::store::TensorPlace& place : layout->tensors()) {
    paceline_tensor* const tensor =
        std::find_if(tensors, tensors + count,
                     [&](const paceline_tensor& one) { return place.spec.name == one.name; });
    tensor->offset_bytes = place.offset_bytes;
  }
  *total_bytes = layout->total_bytes();
  return PACELINE_OK;
}

paceline_memory* paceline_take_memory(uint64_t total_bytes) {
  StatusOr<std::shared_ptr<VersionWindow>> window = VersionWindow::Of(total_bytes);
  return window.ok() ? new paceline_memory{*std::move(window)} : nullptr;
}

void* paceline_memory_begin(const paceline_memory* memory) {
  return memory->window->bytes().data();
}

void paceline_give_back_memory(paceline_memory* memory) { delete memory; }

int paceline_open(const paceline_tensor* tensors, size_t count, void* values, uint64_t total_bytes,
                  paceline_memory* memory, paceline_session** session) {
  StatusOr<paceline::store::Layout> layout = LayoutOf(tensors, count);
  if (!layout.ok()) return Said(layout.status());
  if (layout->total_bytes() != total_bytes)
    return Invalid("values are not as large as paceline_arrange said");
  const std::span<std::byte> bytes(static_cast<std::byte*>(values), total_bytes);
  const auto window = memory == nullptr ? nullptr : memory->window;
  if (window != nullptr &&
      (window->bytes().data() != bytes.data() || window->bytes().size() < bytes.size())) {
    return Invalid("values do not begin the memory");
  }
  StatusOr<std::unique_ptr<HostedWorker>> worker =
      HostedWorker::Open(*std::move(layout), bytes, window);
  if (!worker.ok()) return NotOpened(worker.status());
  const auto format = paceline::telemetry::ParseLogFormat((*worker)->life().options().log_format);
  paceline::telemetry::ConfigureLog({.program = "paceline-worker", .format = *format});
  const auto& arranged = (*worker)->layout().tensors();
  std::vector<size_t> places(count);
  for (size_t place = 0; place < arranged.size(); ++place) {
    const auto* const tensor = std::find_if(tensors, tensors + count, [&](const auto& one) {
      return arranged[place].spec.name == one.name;
    });
    places[static_cast<size_t>(tensor - tensors)] = place;
  }
  *session = new paceline_session{
      .worker = *std::move(worker), .places = std::move(places), .work = {}, .reason = {}};
  return PACELINE_OK;
}

int paceline_read_job(const char** json) {
  thread_local std::string kept;
  StatusOr<std::string> read = HostedWorker::ReadJob();
  if (!read.ok()) return NotOpened(read.status());
  kept = *std::move(read);
  *json = kept.c_str();
  return PACELINE_OK;
}

const char* paceline_job(const paceline_session* session) {
  return session->worker->job_json().c_str();
}

int paceline_is_evaluator(const paceline_session* session) {
  return session->worker->life().options().is_evaluator() ? 1 : 0;
}

uint32_t paceline_index(const paceline_session* session) {
  return session->worker->life().options().index;
}

const char* paceline_group(const paceline_session* session) {
  return session->worker->life().options().group.c_str();
}

const char* paceline_device(const paceline_session* session) {
  return session->worker->life().options().device.c_str();
}

int paceline_threads(const paceline_session* session) {
  return session->worker->life().ChooseThreads();
}

int paceline_keep(paceline_session* session, const char* name, const char* type,
                  const char* digest) {
  return Said(session->worker->Keep({name, type, digest}));
}

int paceline_hold(paceline_session* session, const char* of, const char* frozen,
                  uint64_t total_bytes, paceline_read read) {
  return Said(session->worker->Hold({.of = of,
                                     .frozen = frozen,
                                     .bytes = total_bytes,
                                     .read = [read](uint64_t begin, std::span<std::byte> into) {
                                       return read(begin, into.size(), into.data()) == 0;
                                     }}));
}

int paceline_adopt(paceline_session* session, paceline_take take, int* state) {
  const auto taken = session->worker->Adopt(
      [take](uint64_t begin, uint64_t size, std::span<const std::byte> bytes) {
        return take(begin, size, bytes.data(), bytes.size()) == 0;
      });
  if (!taken.ok()) return Said(taken.status());
  *state = static_cast<int>(*taken);
  return PACELINE_OK;
}

int paceline_start(paceline_session* session, uint64_t train_samples, const char* device,
                   int threads, const char* sampler) {
  return Said(session->worker->Start(train_samples, device, threads,
                                     sampler == nullptr ? std::string() : std::string(sampler)));
}

int paceline_next(paceline_session* session, int timeout_ms, paceline_work* work) {
  *work = {};
  StatusOr<HostedWork> next = session->worker->Next(std::chrono::milliseconds(timeout_ms));
  if (!next.ok()) return Said(next.status());
  session->work = *std::move(next);
  work->kind = static_cast<int32_t>(session->work.kind);
  work->samples = session->work.samples.data();
  work->sample_count = session->work.samples.size();
  work->epoch =
      session->work.ranges.empty() ? session->work.epoch : session->work.ranges.front().epoch;
  return PACELINE_OK;
}

int paceline_drew(paceline_session* session, uint64_t epoch, const uint32_t* samples,
                  size_t count) {
  paceline::worker::HostedTrainer* const trainer = session->worker->trainer();
  if (trainer == nullptr) return Invalid("the worker has not started");
  return Said(trainer->Drew(epoch, {samples, count}));
}

const char* paceline_reason(const paceline_session* session) {
  auto* const owner = const_cast<paceline_session*>(session);
  owner->reason = session->worker->reason();
  return owner->reason.c_str();
}

size_t paceline_expect(paceline_session* session, size_t ahead, uint32_t* samples,
                       size_t capacity) {
  if (!Has(session, HostedWork::Kind::kStep)) return 0;
  const std::vector<uint32_t> expected = session->worker->trainer()->Expect(ahead);
  std::copy_n(expected.begin(), std::min(capacity, expected.size()), samples);
  return expected.size();
}

int paceline_may_go_on(paceline_session* session) {
  if (Has(session, HostedWork::Kind::kNothing)) return 1;
  return session->worker->trainer()->MayGoOn() ? 1 : 0;
}

int paceline_hand(paceline_session* session, size_t count, const size_t* tensors,
                  const float* const* gradients, const uint64_t* sizes) {
  if (!Has(session, HostedWork::Kind::kStep)) return NotTaken();
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i] >= session->places.size()) return Invalid("there is no such tensor");
    const Status handed = session->worker->trainer()->Hand(
        session->places[tensors[i]], std::as_bytes(std::span<const float>(gradients[i], sizes[i])));
    if (!handed.ok()) return Said(handed);
  }
  return session->worker->trainer()->MayGoOn() ? PACELINE_OK : PACELINE_GIVEN_UP;
}

int paceline_begin_step(paceline_session* session) {
  if (!Has(session, HostedWork::Kind::kStep)) return NotTaken();
  session->worker->trainer()->Begin();
  return PACELINE_OK;
}

int paceline_end_step(paceline_session* session, double loss, uint64_t samples, uint64_t correct) {
  if (!Has(session, HostedWork::Kind::kStep)) return NotTaken();
  if (const uint64_t taken = session->worker->trainer()->samples(); samples > taken)
    return Invalid(fmt::format("the step is of {} samples, and {} were taken", samples, taken));
  if (samples == 0 && session->worker->trainer()->has_handed())
    return Invalid("the step is of no samples, and gradients were handed over for it");
  session->worker->Done();
  session->worker->trainer()->EndStep(loss, samples, correct);
  return PACELINE_OK;
}

int paceline_give_up_step(paceline_session* session, int why) {
  if (!Has(session, HostedWork::Kind::kStep)) return NotTaken();
  session->worker->GiveUp(why == PACELINE_OUT_OF_MEMORY
                              ? paceline::ResourceExhausted("out of memory")
                              : paceline::Cancelled("given up"));
  return PACELINE_OK;
}

int paceline_fail_step(paceline_session* session, const char* why, const char* cause) {
  if (!Has(session, HostedWork::Kind::kStep)) return NotTaken();
  session->worker->GiveUp(paceline::WithDetail(paceline::InvalidArgument("{}", why),
                                               paceline::worker::kCauseDetail, cause));
  return PACELINE_OK;
}

int paceline_end_evaluation(paceline_session* session, const paceline_evaluation* evaluation) {
  if (!Has(session, HostedWork::Kind::kEvaluate)) return NotTaken();
  paceline::worker::Evaluation result{
      .loss = evaluation->loss,
      .accuracy_from = evaluation->accuracy_from == nullptr ? "" : evaluation->accuracy_from,
      .samples = evaluation->samples};
  if (!std::isnan(evaluation->accuracy)) result.accuracy = evaluation->accuracy;
  for (size_t i = 0; i < evaluation->metric_count; ++i)
    result.metrics[evaluation->names[i]] = evaluation->metrics[i];
  session->worker->Done();
  session->worker->trainer()->EndEvaluation(std::move(result));
  return PACELINE_OK;
}

int paceline_fail_evaluation(paceline_session* session, const char* why) {
  if (!Has(session, HostedWork::Kind::kEvaluate)) return NotTaken();
  session->worker->GiveUp(paceline::InvalidArgument("{}", why));
  return PACELINE_OK;
}

void paceline_drain(paceline_session* session) { session->worker->Drain(); }

void paceline_leave(paceline_session* session) { session->worker->Leave(); }

int paceline_close(paceline_session* session, int timeout_ms) {
  const bool has_ended =
      HostedWorker::Close(std::move(session->worker), std::chrono::milliseconds(timeout_ms));
  delete session;
  return has_ended ? PACELINE_OK
                   : Said(paceline::Unavailable("the job has not heard in time that this worker "
                                                "leaves, and may write to its values yet"));
}

void paceline_last_word(const char* words) {
  const char* const path = std::getenv("PACELINE_TERMINATION_MESSAGE");
  if (path != nullptr) paceline::process::SayLastWord(path, words);
}

void paceline_log(int level, const char* text) {
  using paceline::telemetry::LogLevel;
  paceline::telemetry::Log(level == 0 ? LogLevel::kInfo : LogLevel::kWarning, "script",
                           {{"says", text}});
}
