# Finds LibTorch inside a PyTorch wheel and defines
#   LibTorch::cpu    torch_cpu and c10, headers included
#   LibTorch_VERSION, LibTorch_ROOT (the folder that holds include/ and lib/)
#
# Looked for in this order: -DPACELINE_LIBTORCH=<folder>, the environment's PACELINE_LIBTORCH, the folder that tools/setup
# fills, python3's own torch package. <folder> may hold torch/ or be it. Where no folder is given and none is found, the
# build downloads it with tools/setup while it compiles what does not need it.
#
# The wheel's TorchConfig.cmake is not used: it demands a CUDA toolkit even for CPU programs.

set(LibTorch_WANTED_VERSION 2.11.0)
set(PACELINE_LIBTORCH "" CACHE PATH "Folder of a PyTorch wheel (pip install --target); empty: look for one")

set(_cache $ENV{XDG_CACHE_HOME})
if(NOT _cache)
  set(_cache $ENV{HOME}/.cache)
endif()
if(PACELINE_LIBTORCH)
  set(_places ${PACELINE_LIBTORCH})
elseif(DEFINED ENV{PACELINE_LIBTORCH})
  set(_places $ENV{PACELINE_LIBTORCH})
else()
  set(_places ${_cache}/paceline/libtorch-${LibTorch_WANTED_VERSION})
  if(NOT EXISTS ${_places}/torch/lib/libtorch_cpu.so)
    find_program(LibTorch_PYTHON NAMES python3)
    if(LibTorch_PYTHON)
      execute_process(
        COMMAND ${LibTorch_PYTHON} -c
                "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
        OUTPUT_VARIABLE _python_torch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
      list(APPEND _places ${_python_torch})
    endif()
  endif()
endif()

unset(LibTorch_ROOT)
foreach(_place IN LISTS _places)
  foreach(_folder ${_place}/torch ${_place})
    if(NOT DEFINED LibTorch_ROOT AND EXISTS ${_folder}/lib/libtorch_cpu.so AND EXISTS ${_folder}/include/ATen/ATen.h)
      set(LibTorch_ROOT ${_folder})
    endif()
  endforeach()
endforeach()

if(NOT DEFINED LibTorch_ROOT AND NOT PACELINE_LIBTORCH AND NOT DEFINED ENV{PACELINE_LIBTORCH})
  set(LibTorch_ROOT ${_cache}/paceline/libtorch-${LibTorch_WANTED_VERSION}/torch)
  set(LibTorch_VERSION ${LibTorch_WANTED_VERSION})
  if(NOT TARGET libtorch)
    set(_files ${LibTorch_ROOT}/lib/libc10.so ${LibTorch_ROOT}/lib/libtorch_cpu.so)
    add_custom_command(OUTPUT ${_files} COMMAND ${CMAKE_SOURCE_DIR}/tools/setup --to-link
                       COMMENT "Downloading LibTorch ${LibTorch_VERSION}" VERBATIM)
    add_custom_target(libtorch DEPENDS ${_files})
  endif()
endif()

if(DEFINED LibTorch_ROOT)
  if(EXISTS ${LibTorch_ROOT}/version.py)
    file(STRINGS ${LibTorch_ROOT}/version.py _version REGEX "^__version__")
    string(REGEX REPLACE ".*'([0-9.]+).*" "\\1" LibTorch_VERSION "${_version}")
  endif()

  # -idirafter: the wheel's include folder carries other versions of protobuf and fmt, which must never win.
  set(_compile "SHELL:-idirafter ${LibTorch_ROOT}/include"
               "SHELL:-idirafter ${LibTorch_ROOT}/include/torch/csrc/api/include")
  # --no-as-needed: kernels register themselves when a library is loaded, whether or not a symbol of it is used.
  # Undefined symbols are those of the wheel's CUDA packages, which its own rpath finds at run time.
  set(_link "LINKER:--no-as-needed" "LINKER:--allow-shlib-undefined" "LINKER:-rpath,${LibTorch_ROOT}/lib")
  foreach(_library c10 torch_cpu)
    if(NOT TARGET LibTorch::${_library})
      add_library(LibTorch::${_library} SHARED IMPORTED)
      set_target_properties(LibTorch::${_library} PROPERTIES IMPORTED_LOCATION ${LibTorch_ROOT}/lib/lib${_library}.so)
    endif()
  endforeach()
  if(NOT TARGET LibTorch::cpu)
    add_library(LibTorch::cpu INTERFACE IMPORTED)
    set_target_properties(LibTorch::cpu PROPERTIES
      INTERFACE_COMPILE_OPTIONS "${_compile}"
      INTERFACE_LINK_OPTIONS "${_link}"
      INTERFACE_LINK_LIBRARIES "LibTorch::torch_cpu;LibTorch::c10")
  endif()
  if(TARGET libtorch)
    add_dependencies(LibTorch::cpu libtorch)
  endif()
endif()

list(JOIN _places ", " _looked)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_ROOT
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "looked in: ${_looked}. Give -DPACELINE_LIBTORCH=<folder that holds torch/>, or none, and \
tools/setup installs torch ${LibTorch_WANTED_VERSION} into ${_cache}/paceline")
