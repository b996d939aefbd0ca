#include "lib/store/layout.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/ranges.h>

#include "lib/base/check.h"

namespace paceline::store {
namespace {

constexpr uint64_t kTotalBytesMax = uint64_t{1} << 40;

uint64_t ElementBytes(DataType type) { return type == DataType::kFloat32 ? 4 : 8; }

std::string_view NameOf(DataType type) { return type == DataType::kFloat32 ? "float32" : "int64"; }
std::string_view NameOf(TensorKind kind) {
  return kind == TensorKind::kParameter ? "parameter" : "buffer";
}

std::string Print(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

StatusOr<uint64_t> SizeBytes(const TensorSpec& tensor) {
  const bool is_empty = std::count(tensor.shape.begin(), tensor.shape.end(), 0) > 0;
  uint64_t elements = 1;
  for (const int64_t dimension : tensor.shape) {
    if (dimension < 0) {
      return InvalidArgument("tensor {} has a negative dimension: got shape {}", tensor.name,
                             Print(tensor.shape));
    }
    if (is_empty) continue;
    if (static_cast<uint64_t>(dimension) > kTotalBytesMax / elements) {
      return InvalidArgument("tensor {} is larger than 2^40 bytes: got shape {}", tensor.name,
                             Print(tensor.shape));
    }
    elements *= static_cast<uint64_t>(dimension);
  }
  return is_empty ? 0 : elements * ElementBytes(tensor.type);
}

// Parameters, float32 buffers, int64 buffers.
int Group(const TensorSpec& tensor) {
  if (tensor.kind == TensorKind::kParameter) return 0;
  return tensor.type == DataType::kFloat32 ? 1 : 2;
}

class Fnv1a {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) Add(static_cast<unsigned char>(byte));
  }
  void Add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) Add(static_cast<unsigned char>(number >> shift));
  }
  uint64_t value() const { return value_; }

 private:
  void Add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  uint64_t value_ = 0xcbf29ce484222325u;
};

uint64_t Hash(const std::vector<TensorPlace>& tensors) {
  Fnv1a hash;
  hash.Add(uint64_t{tensors.size()});
  for (const TensorPlace& place : tensors) {
    hash.Add(uint64_t{place.spec.name.size()});
    hash.Add(place.spec.name);
    hash.Add(uint64_t{place.spec.shape.size()});
    for (const int64_t dimension : place.spec.shape) hash.Add(static_cast<uint64_t>(dimension));
    hash.Add(static_cast<uint64_t>(place.spec.type));
    hash.Add(static_cast<uint64_t>(place.spec.kind));
  }
  return hash.value();
}

std::set<std::string_view> Names(const std::vector<TensorPlace>& tensors) {
  std::set<std::string_view> names;
  for (const TensorPlace& place : tensors) names.insert(place.spec.name);
  return names;
}

}  // namespace

StatusOr<Layout> Layout::Create(const std::vector<TensorSpec>& tensors) {
  std::set<std::string_view> names;
  Layout layout;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorSpec& tensor = tensors[i];
    if (tensor.name.empty()) return InvalidArgument("tensor number {} has no name", i);
    if (!names.insert(tensor.name).second)
      return InvalidArgument("tensor {} is named twice", tensor.name);
    if (tensor.kind == TensorKind::kParameter && tensor.type != DataType::kFloat32) {
      return InvalidArgument("parameter {} must be float32: got {}", tensor.name,
                             NameOf(tensor.type));
    }
    PACELINE_ASSIGN_OR_RETURN(const uint64_t size_bytes, SizeBytes(tensor));
    layout.tensors_.push_back({tensor, 0, size_bytes});
  }
  std::stable_sort(
      layout.tensors_.begin(), layout.tensors_.end(),
      [](const TensorPlace& a, const TensorPlace& b) { return Group(a.spec) < Group(b.spec); });
  PACELINE_RETURN_IF_ERROR(layout.Arrange());
  if (layout.parameter_bytes_ == 0) {
    return InvalidArgument("layout has no parameter to train: got {} tensors", tensors.size());
  }
  layout.hash_ = Hash(layout.tensors_);
  return layout;
}

Status Layout::Arrange() {
  std::stable_sort(
      tensors_.begin(), tensors_.end(),
      [](const TensorPlace& a, const TensorPlace& b) { return Group(a.spec) < Group(b.spec); });
  uint64_t end = 0;
  uint64_t group_ends[3] = {};
  for (TensorPlace& place : tensors_) {
    const int group = Group(place.spec);
    if (group == 2) end = (end + 7) / 8 * 8;
    place.offset_bytes = end;
    end += place.size_bytes;
    group_ends[group] = end;
    if (end > kTotalBytesMax) {
      return InvalidArgument("tensors are larger than 2^40 bytes in all: tensor {} goes beyond",
                             place.spec.name);
    }
  }
  parameter_bytes_ = group_ends[0];
  float_bytes_ = std::max(group_ends[0], group_ends[1]);
  total_bytes_ = end;
  const bool has_integers = !tensors_.empty() && Group(tensors_.back().spec) == 2;
  integer_begin_bytes_ = has_integers ? (float_bytes_ + 7) / 8 * 8 : end;
  return OkStatus();
}

std::string Layout::Difference(const Layout& want) const {
  const std::set<std::string_view> got_names = Names(tensors_);
  const std::set<std::string_view> want_names = Names(want.tensors_);
  for (const TensorPlace& place : want.tensors_) {
    if (!got_names.contains(place.spec.name))
      return fmt::format("tensor {} is missing", place.spec.name);
  }
  for (const TensorPlace& place : tensors_) {
    if (!want_names.contains(place.spec.name))
      return fmt::format("tensor {} is not wanted", place.spec.name);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorSpec& got = tensors_[i].spec;
    const auto same_name = [&](const TensorPlace& place) { return place.spec.name == got.name; };
    const TensorSpec& wanted =
        std::find_if(want.tensors_.begin(), want.tensors_.end(), same_name)->spec;
    if (got.shape != wanted.shape) {
      return fmt::format("tensor {} has shape {}, want {}", got.name, Print(got.shape),
                         Print(wanted.shape));
    }
    if (got.type != wanted.type) {
      return fmt::format("tensor {} has type {}, want {}", got.name, NameOf(got.type),
                         NameOf(wanted.type));
    }
    if (got.kind != wanted.kind) {
      return fmt::format("tensor {} is a {}, want a {}", got.name, NameOf(got.kind),
                         NameOf(wanted.kind));
    }
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const std::string& got = tensors_[i].spec.name;
    const std::string& wanted = want.tensors_[i].spec.name;
    if (got != wanted)
      return fmt::format("tensor {} stands at place {}, want {} there", got, i, wanted);
  }
  return "";
}

std::vector<Slice> SliceOverShards(const Layout& layout, uint32_t shards) {
  PACELINE_CHECK(shards >= 1, "no shards");
  const uint64_t total = layout.total_bytes();
  const uint64_t blocks = (total + kBlockBytes - 1) / kBlockBytes;
  std::vector<Slice> slices(shards);
  uint64_t begin_block = 0;
  for (uint32_t i = 0; i < shards; ++i) {
    const uint64_t end_block = begin_block + blocks / shards + (i < blocks % shards ? 1 : 0);
    slices[i] = {std::min(begin_block * kBlockBytes, total),
                 std::min(end_block * kBlockBytes, total)};
    begin_block = end_block;
  }
  return slices;
}

}  // namespace paceline::store
