// Defines FaultyDisk, for tests: a Disk that fails at a chosen call, and that forgets at a crash
// what was not flushed.
//
// It models what a disk promises, not what a page cache usually does: a file's bytes are kept once
// the file was flushed, a name (made, renamed to or removed) once its folder was. Everything else
// is lost by Crash.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "lib/base/check.h"
#include "lib/files/disk.h"

namespace paceline::files::testing {

// The calls are those of Disk, done below `root`, an empty folder that is there. One owner at a
// time.
class FaultyDisk : public Disk {
 public:
  explicit FaultyDisk(std::string root);

  // The `call`-th from now, counted from 1, fails with that errno; `calls` in a row do. 0: none.
  void FailAt(uint64_t call, int error_number, uint64_t calls = 1);
  uint64_t calls() const { return calls_; }  // Since the last FailAt.
  bool has_failed() const { return calls_ >= first_ && first_ > 0; }

  // The machine stops and starts again: below the root there is what was flushed, no more. Files
  // that are open belong to nobody any more.
  void Crash();

  StatusOr<OpenFile> Open(const std::string& path, OpenFor what) override;
  Status Write(const OpenFile& file, std::span<const std::byte> bytes) override;
  Status Flush(const OpenFile& file) override;
  Status Close(const OpenFile& file) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeFolder(const std::string& path) override;

 private:
  struct Node;
  using NodePtr = std::shared_ptr<Node>;
  using Names = std::map<std::string, NodePtr>;
  struct Node {
    bool is_folder = false;
    std::string bytes;  // Of a file: what was flushed last.
    Names names;        // Of a folder: as it is...
    Names kept;         // ...and as it was flushed last.
  };

  Status Fault(const char* what, const std::string& path);
  NodePtr Find(const std::string& path) const;  // Null if it is not below the root.
  void Restore(const std::string& path, Node& node) const;
  const std::string root_;
  NodePtr tree_;
  std::map<int, NodePtr> open_;  // By descriptor.
  uint64_t calls_ = 0;
  uint64_t first_ = 0;  // That fails.
  uint64_t last_ = 0;
  int error_number_ = 0;
};

namespace detail {

inline std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string NameIn(const std::string& path) {
  return std::filesystem::path(path).filename();
}

}  // namespace detail

inline FaultyDisk::FaultyDisk(std::string root)
    : root_(std::move(root)), tree_(std::make_shared<Node>(Node{.is_folder = true})) {}

inline void FaultyDisk::FailAt(uint64_t call, int error_number, uint64_t calls) {
  calls_ = 0;
  first_ = call;
  last_ = call + calls - 1;
  error_number_ = error_number;
}

inline Status FaultyDisk::Fault(const char* what, const std::string& path) {
  ++calls_;
  if (first_ == 0 || calls_ < first_ || calls_ > last_) return OkStatus();
  return FileError(what, path, error_number_);
}

inline FaultyDisk::NodePtr FaultyDisk::Find(const std::string& path) const {
  const std::string relative =
      std::filesystem::path(path).lexically_normal().lexically_relative(root_);
  if (relative == ".") return tree_;
  NodePtr node = tree_;
  for (const std::filesystem::path& part : std::filesystem::path(relative)) {
    const auto found = node->names.find(part);
    if (found == node->names.end()) return nullptr;
    node = found->second;
  }
  return node;
}

inline StatusOr<OpenFile> FaultyDisk::Open(const std::string& path, OpenFor what) {
  PACELINE_RETURN_IF_ERROR(Fault("open", path));
  PACELINE_ASSIGN_OR_RETURN(OpenFile file, SystemDisk().Open(path, what));
  NodePtr node = Find(path);
  if (node == nullptr) {
    const NodePtr parent = Find(ParentOf(path));
    PACELINE_CHECK(parent != nullptr, "is not below {}: {}", root_, path);
    node = std::make_shared<Node>();
    parent->names[detail::NameIn(path)] = node;
  }
  open_[file.descriptor] = node;
  return file;
}

inline Status FaultyDisk::Write(const OpenFile& file, std::span<const std::byte> bytes) {
  if (const Status fault = Fault("write", file.path); !fault.ok()) {
    // A disk that is full takes some of it first.
    (void)SystemDisk().Write(file, bytes.first(bytes.size() / 2));
    return fault;
  }
  return SystemDisk().Write(file, bytes);
}

inline Status FaultyDisk::Flush(const OpenFile& file) {
  PACELINE_RETURN_IF_ERROR(Fault("flush", file.path));
  Node& node = *open_.at(file.descriptor);
  if (node.is_folder) node.kept = node.names;
  if (!node.is_folder) node.bytes = detail::BytesOf(file.path);
  return OkStatus();
}

inline Status FaultyDisk::Close(const OpenFile& file) {
  open_.erase(file.descriptor);
  const Status closed = SystemDisk().Close(file);
  PACELINE_RETURN_IF_ERROR(Fault("close", file.path));
  return closed;
}

inline Status FaultyDisk::Rename(const std::string& from, const std::string& to) {
  PACELINE_RETURN_IF_ERROR(Fault("rename to", to));
  PACELINE_RETURN_IF_ERROR(SystemDisk().Rename(from, to));
  const NodePtr parent = Find(ParentOf(from));
  const NodePtr node = parent->names.at(detail::NameIn(from));
  parent->names.erase(detail::NameIn(from));
  Find(ParentOf(to))->names[detail::NameIn(to)] = node;
  return OkStatus();
}

inline Status FaultyDisk::Remove(const std::string& path) {
  PACELINE_RETURN_IF_ERROR(Fault("remove", path));
  PACELINE_RETURN_IF_ERROR(SystemDisk().Remove(path));
  if (const NodePtr parent = Find(ParentOf(path)); parent != nullptr)
    parent->names.erase(detail::NameIn(path));
  return OkStatus();
}

inline Status FaultyDisk::MakeFolder(const std::string& path) {
  PACELINE_RETURN_IF_ERROR(Fault("make", path));
  PACELINE_RETURN_IF_ERROR(SystemDisk().MakeFolder(path));
  Find(ParentOf(path))->names[detail::NameIn(path)] =
      std::make_shared<Node>(Node{.is_folder = true});
  return OkStatus();
}

inline void FaultyDisk::Restore(const std::string& path, Node& node) const {
  node.names = node.kept;
  for (const auto& [name, child] : node.names) {
    const std::string at = path + "/" + name;
    if (child->is_folder) {
      std::filesystem::create_directory(at);
      Restore(at, *child);
    } else {
      std::ofstream(at, std::ios::binary) << child->bytes;
    }
  }
}

inline void FaultyDisk::Crash() {
  for (const auto& entry : std::filesystem::directory_iterator(root_))
    std::filesystem::remove_all(entry.path());
  open_.clear();
  Restore(root_, *tree_);
}

}  // namespace paceline::files::testing
