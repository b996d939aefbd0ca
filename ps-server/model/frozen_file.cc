#include "ps-server/model/frozen_file.h"

#include <filesystem>
#include <utility>

#include "lib/store/safetensors.h"
#include "lib/telemetry/log.h"

namespace paceline::ps {
namespace {

namespace fs = std::filesystem;
using protocol::FrozenAnswer;
using protocol::FrozenPart;
using protocol::FrozenState;
using telemetry::Log;
using telemetry::LogLevel;

std::string Beside(const std::string& model) {
  const fs::path path(model);
  return path.parent_path() / ("." + path.filename().string() + ".frozen");
}

FrozenAnswer NotWanted(std::string why) { return {FrozenState::kNotWanted, 0, std::move(why)}; }

}  // namespace

FrozenFile::FrozenFile(Options options)
    : options_(std::move(options)),
      path_(options_.model.empty() ? std::string() : Beside(options_.model)) {
  if (!path_.empty()) FindLeftover();
}

FrozenFile::~FrozenFile() { Remove(); }

void FrozenFile::FindLeftover() {
  const auto file = store::SafetensorsFile::Open(path_);
  if (file.status().code() == StatusCode::kNotFound) return;
  if (!file.ok() || !file->metadata().contains("of")) {
    (void)options_.disk->Remove(path_);
    return;
  }
  of_ = file->metadata().at("of");
  std::error_code ignored;
  bytes_ = fs::file_size(path_, ignored);
  Log(LogLevel::kInfo, "frozen parameters of this job's last start are here, for the model file",
      {{"bytes", bytes_}});
}

FrozenAnswer FrozenFile::Take(const FrozenPart& part) {
  std::lock_guard lock(mutex_);
  if (path_.empty()) return NotWanted("the job writes no model file");
  if (!problem_.empty()) return NotWanted(problem_);
  if (!of_.empty() && of_ == part.of) return {FrozenState::kHeld, 0, ""};
  if (incoming_ && incoming_->sender == part.sender && incoming_->of == part.of)
    return Append(part);
  if (incoming_ && options_.now() - incoming_->last < options_.patience)
    return {FrozenState::kBusy, 0, ""};
  return Begin(part);
}

FrozenAnswer FrozenFile::Begin(const FrozenPart& part) {
  incoming_.reset();
  if (!std::exchange(of_, "").empty()) (void)options_.disk->Remove(path_);
  auto file = files::AtomicFile::Create(path_, *options_.disk);
  if (!file.ok()) return GiveUp(Message(file.status()));
  incoming_.emplace(Incoming{.of = part.of,
                             .sender = part.sender,
                             .size = part.size,
                             .last = options_.now(),
                             .file = *std::move(file)});
  return {FrozenState::kWanted, 0, ""};
}

FrozenAnswer FrozenFile::Append(const FrozenPart& part) {
  incoming_->last = options_.now();
  if (part.begin != incoming_->written || part.size != incoming_->size ||
      part.bytes.size() > incoming_->size - incoming_->written)
    return {FrozenState::kWanted, incoming_->written, ""};
  if (const Status written = incoming_->file.Write(part.bytes); !written.ok())
    return GiveUp(Message(written));
  incoming_->written += part.bytes.size();
  if (incoming_->written < incoming_->size) return {FrozenState::kWanted, incoming_->written, ""};
  Status status = incoming_->file.Commit();
  if (status.ok()) status = store::SafetensorsFile::Open(path_).status();
  if (!status.ok()) return GiveUp(Message(status));
  of_ = incoming_->of;
  bytes_ = incoming_->size;
  incoming_.reset();
  Log(LogLevel::kInfo, "frozen parameters are here, for the model file", {{"bytes", bytes_}});
  return {FrozenState::kHeld, 0, ""};
}

FrozenAnswer FrozenFile::GiveUp(const std::string& why) {
  incoming_.reset();
  (void)options_.disk->Remove(path_);  // Perhaps the last that was done with it is what failed.
  problem_ = why;
  Log(LogLevel::kWarning,
      "the model file will not hold the frozen parameters: load them as the script does",
      {{"why", why}});
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

void FrozenFile::Remove() {
  std::lock_guard lock(mutex_);
  incoming_.reset();
  if (std::exchange(of_, "").empty()) return;
  (void)options_.disk->Remove(path_);
}

}  // namespace paceline::ps
