// Defines Scheme: the names of the synchronisation schemes. What each of them is says presets.cc.
#pragma once

#include "lib/sync/contract/word.h"

namespace paceline::sync {

// Named as in manifests.
enum class Scheme {
  kBsp,
  kSsp,
  kAsp,
  kBackupWorkers,
  kDbw,
  kWbsp,
  kPsPlus,
  kKAsync,
  kKBatchAsync,
  kAuto
};

inline constexpr Word<Scheme> kSchemeWords[] = {
    {Scheme::kBsp, "BSP"},
    {Scheme::kSsp, "SSP"},
    {Scheme::kAsp, "ASP"},
    {Scheme::kBackupWorkers, "BackupWorkers"},
    {Scheme::kDbw, "DBW"},
    {Scheme::kWbsp, "WBSP"},
    {Scheme::kPsPlus, "PSPlus"},
    {Scheme::kKAsync, "KAsync"},
    {Scheme::kKBatchAsync, "KBatchAsync"},
    {Scheme::kAuto, "Auto"},
};
constexpr Words<Scheme> WordsOf(Scheme) { return kSchemeWords; }

}  // namespace paceline::sync
