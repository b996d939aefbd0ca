#include "ps-server/model/frozen_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/protocol/frozen_tensors.h"
#include "lib/store/safetensors.h"
#include "lib/telemetry/log.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using telemetry::Log;
using telemetry::LogLevel;

std::string Beside(const std::string& model) {
  const fs::path path(model);
  return path.parent_path() / ("." + path.filename().string() + ".frozen");
}

enum class With { kType, kTypeAndDigest };

// Whether `held` has each name of `offered`, with the same of these.
bool HoldsAll(const std::string& held, const std::string& offered,
              With with = With::kTypeAndDigest) {
  const json here = json::parse(held, nullptr, false), there = json::parse(offered, nullptr, false);
  if (!here.is_object() || !there.is_object()) return false;
  return std::ranges::all_of(there.items(), [&](const auto& one) {
    const auto found = here.find(one.key());
    if (found == here.end()) return false;
    if (with == With::kTypeAndDigest) return *found == one.value();
    return found->is_array() && one.value().is_array() && !found->empty() &&
           found->front() == one.value().front();
  });
}

std::string_view SeatOf(std::string_view sender) { return sender.substr(0, sender.find('#')); }

constexpr uint64_t kGivenBytes = 2 << 20;  // At once.

FrozenAnswer NotWanted(std::string why) {
  return {.state = FrozenState::kNotWanted, .why = std::move(why)};
}

// Names and types, as of Join::frozen; digests count for nothing.
std::vector<protocol::FrozenTensor> TypesOf(const std::string& said) {
  std::vector<protocol::FrozenTensor> types;
  const json list = json::parse(said, nullptr, false);
  if (!list.is_object()) return types;
  for (const auto& [name, one] : list.items()) {
    if (one.is_array() && !one.empty() && one.front().is_string())
      types.push_back({.name = name, .type = one.front().get<std::string>(), .digest = ""});
  }
  return types;
}

}  // namespace

FrozenFile::FrozenFile(Options options)
    : options_(std::move(options)),
      beside_model_(options_.model.empty() ? "" : Beside(options_.model)),
      with_checkpoints_(
          options_.checkpoints.empty() ? "" : options_.checkpoints + "/.frozen.safetensors"),
      path_(beside_model_) {
  if (beside_model_.empty()) return;
  FindLeftover(beside_model_);
  if (of_.empty() && !with_checkpoints_.empty()) FindLeftover(with_checkpoints_);
}

FrozenFile::~FrozenFile() {
  if (path_ == beside_model_) Remove();
}

void FrozenFile::FindLeftover(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  path_ = path;
  is_leftover_ = true;
  if (!Look().empty()) {
    (void)options_.disk->Remove(path);
    return;
  }
  Log(LogLevel::kInfo, "frozen parameters of this job's last start are here",
      {{"bytes", bytes_}, {"path", path}});
}

FrozenAnswer FrozenFile::Take(const FrozenPart& part) {
  std::lock_guard lock(mutex_);
  if (beside_model_.empty()) return NotWanted("the job writes no model file");
  const bool is_held = !of_.empty();
  if (is_held && (of_ == part.of || HoldsAll(frozen_, part.frozen)))
    return {.state = FrozenState::kHeld};
  is_adopted_ = is_adopted_ || part.adopts;
  if (is_held && part.adopts) {
    if (HoldsAll(frozen_, part.frozen, With::kType)) return Give(part.begin);
    if (!is_leftover_) {
      return NotWanted(
          protocol::FrozenDifference(TypesOf(part.frozen), TypesOf(frozen_), "the first worker"));
    }
  }
  if (incoming_ && incoming_->sender == part.sender && incoming_->of == part.of)
    return Append(part);
  if (!part.bytes.empty()) return {.state = FrozenState::kBusy};  // It had its turn.
  if (!problem_.empty()) return NotWanted(problem_);
  if (is_held && !is_leftover_ && !HoldsAll(part.frozen, frozen_))
    return NotWanted("those of another worker are there already");
  if (incoming_ && SeatOf(incoming_->sender) != SeatOf(part.sender) &&
      options_.now() - incoming_->last < options_.patience)
    return {.state = FrozenState::kBusy};
  if (part.size == 0) {
    if (is_written_) return NotWanted("training is over, and no worker has handed any over");
    return {.state = FrozenState::kBusy};  // Others will send it.
  }
  return Begin(part);
}

FrozenAnswer FrozenFile::Give(uint64_t begin) const {
  if (begin >= bytes_) return NotWanted(fmt::format("byte {} of {} is asked for", begin, bytes_));
  std::vector<std::byte> bytes(std::min(kGivenBytes, bytes_ - begin));
  std::ifstream file(path_, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return NotWanted("the coordinator cannot read them any more");
  return {.state = FrozenState::kOther,
          .begin = begin,
          .of = of_,
          .size = bytes_,
          .bytes = std::move(bytes)};
}

FrozenAnswer FrozenFile::Begin(const FrozenPart& part) {
  incoming_.reset();
  const bool goes_with_checkpoints = part.adopts && !with_checkpoints_.empty();
  const std::string& path = goes_with_checkpoints ? with_checkpoints_ : beside_model_;
  if (goes_with_checkpoints) {
    if (const Status made = files::MakeFolders(options_.checkpoints, *options_.disk); !made.ok())
      return GiveUp(Message(made));
  }
  auto file = files::AtomicFile::Create(path, *options_.disk);
  if (!file.ok()) return GiveUp(Message(file.status()));
  incoming_.emplace(Incoming{.of = part.of,
                             .sender = part.sender,
                             .size = part.size,
                             .last = options_.now(),
                             .path = path,
                             .file = *std::move(file)});
  return {.state = FrozenState::kWanted};
}

FrozenAnswer FrozenFile::Append(const FrozenPart& part) {
  incoming_->last = options_.now();
  if (part.begin != incoming_->written || part.size != incoming_->size ||
      part.bytes.size() > incoming_->size - incoming_->written)
    return {.state = FrozenState::kWanted, .begin = incoming_->written};
  if (const Status written = incoming_->file.Write(part.bytes); !written.ok())
    return GiveUp(Message(written));
  incoming_->written += part.bytes.size();
  if (incoming_->written < incoming_->size)
    return {.state = FrozenState::kWanted, .begin = incoming_->written};
  return End();
}

FrozenAnswer FrozenFile::End() {
  of_.clear();  // What was there is overwritten.
  const Status status = incoming_->file.Commit();
  if (path_ != incoming_->path) (void)options_.disk->Remove(path_);  // What it replaces.
  path_ = incoming_->path;
  incoming_.reset();
  const std::string problem = status.ok() ? Look() : Message(status);
  if (!problem.empty()) {
    (void)options_.disk->Remove(path_);
    return GiveUp(problem);
  }
  is_leftover_ = false;
  Log(LogLevel::kInfo, "frozen parameters are here, for the model file", {{"bytes", bytes_}});
  return {.state = FrozenState::kHeld};
}

std::string FrozenFile::Look() {
  const auto file = store::SafetensorsFile::Open(path_);
  if (!file.ok()) return Message(file.status());
  if (!file->metadata().contains("of") || !file->metadata().contains("frozen"))
    return path_ + " does not say what it holds";
  of_ = file->metadata().at("of");
  frozen_ = file->metadata().at("frozen");
  std::error_code ignored;
  bytes_ = fs::file_size(path_, ignored);
  return "";
}

FrozenAnswer FrozenFile::GiveUp(const std::string& why) {
  incoming_.reset();
  problem_ = why;
  if (of_.empty()) {
    Log(LogLevel::kWarning,
        "the model file will not hold the frozen parameters: load them as the script does",
        {{"why", why}});
  }
  return NotWanted(why);
}

std::string FrozenFile::path() const {
  std::lock_guard lock(mutex_);
  return of_.empty() ? std::string() : path_;
}

uint64_t FrozenFile::bytes() const {
  std::lock_guard lock(mutex_);
  return of_.empty() ? 0 : bytes_;
}

void FrozenFile::Written() {
  {
    std::lock_guard lock(mutex_);
    is_written_ = true;
    if (is_adopted_) return;
  }
  Remove();
}

void FrozenFile::Remove() {
  std::lock_guard lock(mutex_);
  incoming_.reset();
  if (std::exchange(of_, "").empty()) return;
  (void)options_.disk->Remove(path_);
}

}  // namespace paceline::ps
