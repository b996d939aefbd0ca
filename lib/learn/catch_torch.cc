#include "lib/learn/catch_torch.h"

#include <exception>
#include <new>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include "lib/learn/data/columns.h"

namespace paceline::learn {
namespace {

// The TorchScript interpreter wraps what a kernel threw in a traceback of the script and forgets
// the type; the last line then says what happened: "RuntimeError: mat1 and mat2 shapes cannot be
// multiplied (2x64 and 65x10)".
std::string Essence(std::string_view text) {
  constexpr std::string_view kScripted = "RuntimeError: ";
  if (const size_t at = text.rfind(kScripted); at != std::string_view::npos) {
    text.remove_prefix(at + kScripted.size());
  }
  while (text.starts_with('\n')) text.remove_prefix(1);
  return std::string(text.substr(0, text.find('\n')));
}

bool IsOutOfMemory(std::string_view text) {
  for (const std::string_view sign :
       {"can't allocate memory", "not enough memory", "out of memory"}) {
    if (text.find(sign) != std::string_view::npos) return true;
  }
  return false;
}

Status FromText(std::string_view text) {
  if (IsOutOfMemory(text)) return ResourceExhausted("libtorch: {}", Essence(text));
  return Internal("libtorch: {}", Essence(text));
}

}  // namespace

Status CurrentTorchError() {
  try {
    throw;
  } catch (const c10::OutOfMemoryError& error) {
    return ResourceExhausted("libtorch: {}", Essence(error.what_without_backtrace()));
  } catch (const c10::IndexError& error) {
    return InvalidArgument("libtorch: {}", Essence(error.what_without_backtrace()));
  } catch (const c10::ValueError& error) {
    return InvalidArgument("libtorch: {}", Essence(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return FromText(error.what_without_backtrace());
  } catch (const LostRows& error) {
    return Internal("{}", error.what());
  } catch (const std::bad_alloc&) {
    return ResourceExhausted("out of memory");
  } catch (const std::exception& error) {
    return FromText(error.what());
  } catch (...) {
    return Internal("libtorch: an exception of unknown type");
  }
}

}  // namespace paceline::learn
