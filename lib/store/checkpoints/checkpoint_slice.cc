#include "lib/store/checkpoints/checkpoint_slice.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "lib/store/safetensors.h"

namespace paceline::store {
namespace {

constexpr char kKept[] = "kept";                 // The tensors' name...
constexpr char kKeptVersion[] = "kept_version";  // ...and what there is in the metadata then.

// The part of a tensor that lies in a slice.
struct Part {
  const TensorPlace* place = nullptr;
  uint64_t begin_bytes = 0;  // Of the layout.
  uint64_t end_bytes = 0;
  bool is_whole() const { return end_bytes - begin_bytes == place->size_bytes; }
  uint64_t element_bytes() const { return place->spec.type == DataType::kInt64 ? 8 : 4; }
  uint64_t elements() const { return (end_bytes - begin_bytes) / element_bytes(); }
  std::vector<int64_t> shape() const {
    return is_whole() ? place->spec.shape : std::vector<int64_t>{static_cast<int64_t>(elements())};
  }
  std::string range() const {
    const uint64_t first = (begin_bytes - place->offset_bytes) / element_bytes();
    return fmt::format("{} {}", first, first + elements());
  }
};

std::vector<Part> PartsIn(const Layout& layout, const Slice& slice) {
  std::vector<Part> parts;
  for (const TensorPlace& place : layout.tensors()) {
    const uint64_t begin = std::max(place.offset_bytes, slice.begin_bytes);
    const uint64_t end = std::min(place.offset_bytes + place.size_bytes, slice.end_bytes);
    // A tensor without elements belongs to no slice: there is nothing of it to be kept.
    if (begin < end) parts.push_back({&place, begin, end});
  }
  return parts;
}

// Calls `visit(name, type, shape, bytes)` for all that the file of this slice holds. Optimizer
// state is one float32 for each parameter, in the order of the slice.
template <class Bytes, class State, class Visit>
Status ForEachTensor(const std::vector<Part>& parts, const Slice& slice, std::span<Bytes> bytes,
                     const std::vector<State>& states, Visit visit) {
  for (const Part& part : parts) {
    const TensorSpec& spec = part.place->spec;
    const bool is_parameter = spec.kind == TensorKind::kParameter;
    const uint64_t begin = part.begin_bytes - slice.begin_bytes;
    const uint64_t size = part.end_bytes - part.begin_bytes;
    PACELINE_RETURN_IF_ERROR(
        visit((is_parameter ? "parameter:" : "buffer:") + spec.name,
              spec.type == DataType::kInt64 ? SafetensorsType::kI64 : SafetensorsType::kF32,
              part.shape(), bytes.subspan(begin, size)));
    if (!is_parameter) continue;
    for (const State& state : states) {
      auto values = std::span(state.values).subspan(begin / sizeof(float), part.elements());
      PACELINE_RETURN_IF_ERROR(
          visit(state.name + ":" + spec.name, SafetensorsType::kF32, part.shape(),
                std::span<Bytes>(reinterpret_cast<Bytes*>(values.data()), values.size_bytes())));
    }
  }
  return OkStatus();
}

// Of a kept version: what it has in the place of parameters and buffers.
template <class Bytes, class Visit>
Status ForEachKept(const std::vector<Part>& parts, const Slice& slice, std::span<Bytes> bytes,
                   Visit visit) {
  for (const Part& part : parts) {
    const TensorSpec& spec = part.place->spec;
    PACELINE_RETURN_IF_ERROR(visit(
        std::string(kKept) + ":" + spec.name,
        spec.type == DataType::kInt64 ? SafetensorsType::kI64 : SafetensorsType::kF32, part.shape(),
        bytes.subspan(part.begin_bytes - slice.begin_bytes, part.end_bytes - part.begin_bytes)));
  }
  return OkStatus();
}

constexpr char kAverage[] = "average";                 // The tensors' name...
constexpr char kAverageUpdates[] = "average_updates";  // ...and what there is in the metadata then.

constexpr char kStepsSkipped[] = "steps_skipped:";  // Of the tensor named behind it.

std::map<std::string, std::string> Metadata(const Layout& layout, const std::vector<Part>& parts,
                                            Version version, const StateSnapshot& snapshot) {
  std::map<std::string, std::string> metadata = {
      {"format", "pt"},
      {"version", std::to_string(version.value())},
      {"optimizer_steps", std::to_string(snapshot.steps)}};
  for (const SkippedSteps& skipped : snapshot.skipped) {
    metadata[kStepsSkipped + layout.tensors()[skipped.tensor].spec.name] =
        std::to_string(skipped.steps);
  }
  if (snapshot.average_updates)
    metadata[kAverageUpdates] = std::to_string(*snapshot.average_updates);
  if (snapshot.kept != nullptr)
    metadata[kKeptVersion] = std::to_string(snapshot.kept->version.value());
  for (const Part& part : parts) {
    if (!part.is_whole()) metadata["range:" + part.place->spec.name] = part.range();
  }
  return metadata;
}

std::string Entry(const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? "" : found->second;
}

uint64_t Number(const std::map<std::string, std::string>& metadata, const std::string& key) {
  return std::strtoull(Entry(metadata, key).c_str(), nullptr, 10);
}

std::vector<SkippedSteps> SkippedIn(const SafetensorsFile& file, const Layout& layout) {
  std::vector<SkippedSteps> skipped;
  for (size_t i = 0; i < layout.tensors().size(); ++i) {
    const std::string& name = layout.tensors()[i].spec.name;
    const uint64_t steps = Number(file.metadata(), kStepsSkipped + name);
    if (steps > 0) skipped.push_back({static_cast<uint32_t>(i), steps});
  }
  return skipped;
}

// How many tensors of that kind it holds.
uint64_t CountOf(const char* kind, const SafetensorsFile& file) {
  return std::ranges::count_if(file.tensors(), [&](const SafetensorsTensor& tensor) {
    return tensor.name.starts_with(std::string(kind) + ":");
  });
}

Status CheckMetadata(const SafetensorsFile& file, const std::vector<Part>& parts, Version version) {
  const std::string got = Entry(file.metadata(), "version");
  if (got != std::to_string(version.value()))
    return FailedPrecondition("version is {}, want {}", got, version.value());
  for (const Part& part : parts) {
    const std::string range = Entry(file.metadata(), "range:" + part.place->spec.name);
    const std::string want = part.is_whole() ? "" : part.range();
    if (range == want) continue;
    return FailedPrecondition("tensor {} is there in the range \"{}\", want \"{}\"",
                              part.place->spec.name, range, want);
  }
  return OkStatus();
}

}  // namespace

StateSnapshot SnapshotOf(GroupedOptimizer& grouped, MovingAverage* average) {
  optim::Optimizer& optimizer = grouped.optimizer();
  StateSnapshot snapshot{.steps = optimizer.steps(), .skipped = grouped.skipped()};
  for (const optim::Optimizer::StateTensor& state : optimizer.State()) {
    snapshot.tensors.push_back({state.name, {state.values.begin(), state.values.end()}});
  }
  if (average == nullptr) return snapshot;
  snapshot.average_updates = average->updates();
  snapshot.tensors.push_back({kAverage, {average->values().begin(), average->values().end()}});
  return snapshot;
}

StatusOr<FileDigest> WriteCheckpointSlice(const std::string& path, const Layout& layout,
                                          const Slice& slice, Version version,
                                          std::span<const std::byte> bytes,
                                          const StateSnapshot& snapshot, files::Disk& disk,
                                          Meter* meter) {
  const std::vector<Part> parts = PartsIn(layout, slice);
  std::vector<SafetensorsTensor> tensors;
  const auto add = [&](std::string name, SafetensorsType type, std::vector<int64_t> shape,
                       std::span<const std::byte> part) {
    tensors.push_back({std::move(name), type, std::move(shape), part});
    return OkStatus();
  };
  PACELINE_RETURN_IF_ERROR(ForEachTensor(parts, slice, bytes, snapshot.tensors, add));
  if (snapshot.kept != nullptr)
    PACELINE_RETURN_IF_ERROR(ForEachKept(parts, slice, snapshot.kept->bytes(), add));
  Sha256 sum(meter);
  PACELINE_RETURN_IF_ERROR(WriteSafetensors(
      path, std::move(tensors), Metadata(layout, parts, version, snapshot), &sum, disk));
  const uint64_t size = sum.bytes();
  return FileDigest{size, sum.Finish()};
}

StatusOr<RestoredSlice> ReadCheckpointSlice(const std::string& path, const FileDigest& digest,
                                            const Layout& layout, const Slice& slice,
                                            Version version, std::span<std::byte> bytes,
                                            GroupedOptimizer& optimizer, MovingAverage* average,
                                            const std::optional<KeptRoom>& kept, Meter* meter) {
  const StatusOr<FileDigest> found = DigestFile(path, meter);
  if (!found.ok()) return DataLoss("{}", Message(found.status()));
  if (*found != digest) {
    return DataLoss("checkpoint file {} is damaged: {} bytes of SHA-256 {}, want {} of {}", path,
                    found->bytes, found->sha256, digest.bytes, digest.sha256);
  }
  PACELINE_ASSIGN_OR_RETURN(const SafetensorsFile file, SafetensorsFile::Open(path));
  const std::vector<Part> parts = PartsIn(layout, slice);
  PACELINE_RETURN_IF_ERROR(Annotate(CheckMetadata(file, parts, version), path));
  std::vector<optim::Optimizer::StateTensor> states = optimizer.optimizer().State();
  const bool had_average = file.metadata().contains(kAverageUpdates);
  const bool takes_average = had_average && average != nullptr;
  if (takes_average) states.push_back({kAverage, average->values()});
  size_t wanted = had_average && !takes_average ? CountOf(kAverage, file) : 0;
  if (!kept) wanted += CountOf(kKept, file);
  const auto fill = [&](const std::string& name, SafetensorsType type,
                        const std::vector<int64_t>& shape, std::span<std::byte> part) -> Status {
    ++wanted;
    const SafetensorsTensor* const tensor = file.Find(name);
    if (tensor == nullptr) return FailedPrecondition("{}: tensor {} is missing", path, name);
    if (tensor->type != type || tensor->shape != shape) {
      return FailedPrecondition("{}: tensor {} has another type or shape", path, name);
    }
    std::memcpy(part.data(), tensor->bytes.data(), part.size());
    Count(meter, part.size());
    return OkStatus();
  };
  PACELINE_RETURN_IF_ERROR(ForEachTensor(parts, slice, bytes, states, fill));
  if (kept) {
    const std::string got = Entry(file.metadata(), kKeptVersion);
    if (got != std::to_string(kept->version.value())) {
      return FailedPrecondition("{}: the version that it keeps is {}, want {}", path,
                                got.empty() ? "none" : got, kept->version.value());
    }
    PACELINE_RETURN_IF_ERROR(ForEachKept(parts, slice, kept->bytes, fill));
  }
  if (file.tensors().size() != wanted) {
    return FailedPrecondition("{}: {} tensors are there, want {}: another optimizer's state", path,
                              file.tensors().size(), wanted);
  }
  optimizer.Restore(Number(file.metadata(), "optimizer_steps"), SkippedIn(file, layout));
  if (takes_average) average->Restore(Number(file.metadata(), kAverageUpdates));
  return RestoredSlice{had_average};
}

}  // namespace paceline::store
