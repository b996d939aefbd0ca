# Finds LibTorch inside a PyTorch wheel and defines
#   LibTorch::cpu    torch_cpu and c10, headers included
#   LibTorch::cuda   the same with torch_cuda and c10_cuda, where the wheel carries them (its CUDA packages must be
#                    installed for such a program to start)
#   LibTorch_VERSION, LibTorch_ROOT (the folder that holds include/ and lib/)
#
# Looked for in this order: -DPACELINE_LIBTORCH=<folder>, the environment's PACELINE_LIBTORCH, the folder that tools/setup
# fills, python3's own torch package. <folder> may hold torch/ or be it.
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
  foreach(_library c10 torch_cpu c10_cuda torch_cuda)
    set(_file ${LibTorch_ROOT}/lib/lib${_library}.so)
    if(EXISTS ${_file} AND NOT TARGET LibTorch::${_library})
      add_library(LibTorch::${_library} SHARED IMPORTED)
      set_target_properties(LibTorch::${_library} PROPERTIES IMPORTED_LOCATION ${_file})
    endif()
  endforeach()
  if(NOT TARGET LibTorch::cpu)
    add_library(LibTorch::cpu INTERFACE IMPORTED)
    set_target_properties(LibTorch::cpu PROPERTIES
      INTERFACE_COMPILE_OPTIONS "${_compile}"
      INTERFACE_LINK_OPTIONS "${_link}"
      INTERFACE_LINK_LIBRARIES "LibTorch::torch_cpu;LibTorch::c10")
  endif()
  if(TARGET LibTorch::torch_cuda AND NOT TARGET LibTorch::cuda)
    add_library(LibTorch::cuda INTERFACE IMPORTED)
    set_target_properties(LibTorch::cuda PROPERTIES
      INTERFACE_LINK_LIBRARIES "LibTorch::cpu;LibTorch::torch_cuda;LibTorch::c10_cuda")
  endif()
endif()

list(JOIN _places ", " _looked)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_ROOT
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "looked in: ${_looked}. Run tools/setup, which installs torch ${LibTorch_WANTED_VERSION} into \
${_cache}/paceline, or give -DPACELINE_LIBTORCH=<folder that holds torch/>")
