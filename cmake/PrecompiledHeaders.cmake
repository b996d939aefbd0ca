# Precompiled headers by kind of target (docs/adr/0073). All sources of one kind are compiled with the same flags, which is
# what a compiler asks of a precompiled header: position independent, with threads, against shared fmt.
#
#   paceline_precompile(sync standard)        # the standard library, fmt and Abseil's Status
#   paceline_precompile(sync_test tests)      # the same and GoogleTest; what a release optimises less
#
# A precompiled header also hides a missing include. The ci preset therefore sets CMAKE_DISABLE_PRECOMPILE_HEADERS, and
# tools/compiles_alone.py, a test, compiles a sample of the sources without it.
#
# The headers are named as <...>, so that the file that CMake makes of them is the same in every checkout and ccache finds
# what another checkout compiled.
find_package(absl CONFIG REQUIRED)
find_package(fmt REQUIRED)

set(PACELINE_STANDARD_HEADERS
    <algorithm> <array> <atomic> <bit> <cerrno> <chrono> <cmath> <condition_variable> <cstdint> <cstdlib> <cstring> <deque>
    <filesystem> <fstream> <functional> <iostream> <limits> <map> <memory> <mutex> <numeric> <optional> <ranges> <set> <span>
    <sstream> <string> <string_view> <thread> <tuple> <type_traits> <unordered_map> <utility> <variant> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <fmt/format.h>)

# A fifth cheaper to compile than -O2. Tests are half of what is compiled.
set(PACELINE_LIGHTLY_OPTIMISED $<$<CONFIG:RelWithDebInfo>:-O1>)

# Makes the target whose precompiled header the others of its kind use.
function(_paceline_precompiled_kind kind)
  cmake_parse_arguments(arg "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${kind}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing but the precompiled header.\n")
  add_library(precompiled_${kind} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(precompiled_${kind} PRIVATE ${arg_LIBRARIES})
  target_precompile_headers(precompiled_${kind} PRIVATE ${arg_HEADERS})
  target_compile_options(precompiled_${kind} PRIVATE ${arg_OPTIONS})
endfunction()

function(paceline_precompile target kind)
  if(kind STREQUAL "tests")
    target_compile_options(${target} PRIVATE ${PACELINE_LIGHTLY_OPTIMISED})
  endif()
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS)
    return()
  endif()
  if(NOT TARGET precompiled_${kind})
    if(kind STREQUAL "standard")
      _paceline_precompiled_kind(standard HEADERS ${PACELINE_STANDARD_HEADERS} LIBRARIES absl::status absl::statusor fmt::fmt)
    elseif(kind STREQUAL "tests")
      find_package(GTest REQUIRED)
      _paceline_precompiled_kind(tests HEADERS ${PACELINE_STANDARD_HEADERS} <gmock/gmock.h> <gtest/gtest.h>
                                 LIBRARIES absl::status absl::statusor fmt::fmt GTest::gmock OPTIONS ${PACELINE_LIGHTLY_OPTIMISED})
    else()
      message(FATAL_ERROR "paceline_precompile knows the kinds standard and tests, not '${kind}'")
    endif()
  endif()
  target_link_libraries(${target} PRIVATE fmt::fmt)
  target_precompile_headers(${target} REUSE_FROM precompiled_${kind})
endfunction()
