// Defines FrozenFile: where a coordinator keeps the frozen tensors that no shard has, until the
// model file is written.
//
// The first worker that offers them sends them; others wait meanwhile, and take over where it is
// silent. Whoever offers what is there has nothing to do, nor has who offers something else; only
// one that has all of it and more replaces it, and any a former process's. Who adopts is given
// what is there, where that has all of its names, with their types.
//
// The file lies beside the model's until that is written, or the process ends. Of workers that
// adopt it lies with the run's checkpoints, and stays there: without it no other life could go on.
// One that another process has left is used again.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "lib/base/time.h"
#include "lib/files/atomic_file.h"
#include "lib/files/disk.h"
#include "lib/protocol/frozen_file.h"

namespace paceline::ps {

// Thread-safe; a call may wait for the disk.
class FrozenFile {
 public:
  struct Options {
    std::string model;  // The path of the model's file. Empty: none is written, nothing is wanted.
    std::string checkpoints = {};  // The run's folder of them, which need not be there yet.
    std::function<Time()> now;
    Duration patience = Seconds(30);  // With a sender, between two pieces.
    files::Disk* disk = &files::SystemDisk();
  };
  // Looks for what a process of before has left there.
  explicit FrozenFile(Options options);
  ~FrozenFile();
  FrozenFile(const FrozenFile&) = delete;
  FrozenFile& operator=(const FrozenFile&) = delete;

  // A full disk, or a file that is no safetensors file, is said to the sender, and is not wanted
  // again.
  protocol::FrozenAnswer Take(const protocol::FrozenPart& part);

  // The path of the whole file; empty where there is none yet.
  std::string path() const;
  uint64_t bytes() const;

  void Written();  // The model is.
  void Remove();   // Its room is needed.

 private:
  struct Incoming {
    std::string of, sender;
    uint64_t size = 0, written = 0;
    Time last{};
    std::string path;
    files::AtomicFile file;
  };

  protocol::FrozenAnswer Give(uint64_t begin) const;
  protocol::FrozenAnswer Begin(const protocol::FrozenPart& part);
  protocol::FrozenAnswer Append(const protocol::FrozenPart& part);
  protocol::FrozenAnswer End();
  protocol::FrozenAnswer GiveUp(const std::string& why);
  std::string Look();  // At what lies at path_. What is wrong with it.
  void FindLeftover(const std::string& path);

  const Options options_;
  const std::string beside_model_, with_checkpoints_;  // Where it may lie.
  mutable std::mutex mutex_;
  std::string path_;  // One of these.
  std::optional<Incoming> incoming_;
  std::string of_;      // What lies at path_; empty: nothing.
  std::string frozen_;  // Its metadata of that name.
  uint64_t bytes_ = 0;
  bool is_leftover_ = false;
  bool is_adopted_ = false;  // Somebody has asked for it.
  bool is_written_ = false;
  std::string problem_;
};

}  // namespace paceline::ps
