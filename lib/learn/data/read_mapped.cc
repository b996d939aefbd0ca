#include "lib/learn/data/read_mapped.h"

#include <csetjmp>
#include <csignal>
#include <mutex>

namespace paceline::learn {
namespace {

thread_local sigjmp_buf* volatile way_out = nullptr;  // Of the thread that reads.

struct sigaction before;

void OnBusError(int signal, siginfo_t* info, void* /*context*/) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  sigaction(SIGBUS, &before, nullptr);
  // An access that faulted does so again, and one that somebody sent is sent again.
  if (info->si_code <= 0) raise(signal);
}

void Install() {
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // It is left by a jump.
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

}  // namespace

bool ReadMapped(const std::function<void()>& read) {
  static std::once_flag is_installed;
  std::call_once(is_installed, Install);
  sigjmp_buf here;
  if (sigsetjmp(here, /*savemask=*/0) != 0) {
    way_out = nullptr;
    return false;
  }
  way_out = &here;
  read();
  way_out = nullptr;
  return true;
}

}  // namespace paceline::learn
