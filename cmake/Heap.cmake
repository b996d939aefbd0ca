# PACELINE_HEAP: what programs link that allocate more than anything else; libc's heap serves the others.
find_package(PkgConfig REQUIRED)
pkg_check_modules(jemalloc REQUIRED IMPORTED_TARGET jemalloc)

# Sanitizers bring a heap of their own.
if(NOT PACELINE_SANITIZE)
  set(PACELINE_HEAP PkgConfig::jemalloc)
endif()
