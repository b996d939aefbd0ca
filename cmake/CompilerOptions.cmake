# What every translation unit is compiled with; sanitizers and warnings-as-errors come from the presets.
option(PACELINE_WERROR "Treat warnings as errors" OFF)
set(PACELINE_SANITIZE "" CACHE STRING "Comma-separated list for -fsanitize=")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# The same for all, so that all can use one precompiled header: what lies in a shared library must lie anywhere, and what
# speaks gRPC is compiled with -pthread.
add_compile_options(-fPIC -fno-semantic-interposition -pthread)
# Programs name their sources as the repository does, wherever it lies: ccache then finds what another clone compiled, though
# batches of sources name them by whole paths, and PACELINE_CHECK says lib/store/layout.cc:178.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ collects garbage from 128 MB on, which is what a precompiled header occupies: a tenth of the time of a build.
  add_compile_options("SHELL:--param ggc-min-heapsize=500000")
  add_compile_options(-fpch-preprocess)  # What ccache asks for where headers are precompiled.
  # From a precompiled header g++ 12 finds fault with inlined functions of the standard library, such as std::string's operator+
  # (GCC bug 105651), by mistake and depending on as little as the length of a path. The address sanitizer looks for the same.
  add_compile_options(-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-Wthread-safety)
endif()
if(PACELINE_WERROR)
  add_compile_options(-Werror)
endif()
if(PACELINE_SANITIZE)
  # Undefined behaviour ends a program as the other findings do; a report alone would pass every test.
  add_compile_options(-fsanitize=${PACELINE_SANITIZE} -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)  # What lies within a vector's capacity is no error to the address sanitizer.
  add_link_options(-fsanitize=${PACELINE_SANITIZE})
endif()

find_program(PACELINE_CCACHE ccache)
if(PACELINE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/cached_compiler.sh ${CMAKE_SOURCE_DIR} ${PACELINE_CCACHE})
endif()
find_program(PACELINE_MOLD mold)
if(PACELINE_MOLD AND NOT PACELINE_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()
find_package(Threads REQUIRED)
