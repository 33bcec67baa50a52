# project_flags: everything. project_strict: our own modules, not their tests
# (Criterion's macros do not pass -Wconversion).
add_library(project_flags INTERFACE)
target_compile_features(project_flags INTERFACE c_std_11)
target_compile_definitions(project_flags INTERFACE _GNU_SOURCE)
target_compile_options(project_flags INTERFACE
  -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough
  -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
  -Wpointer-arith -Wwrite-strings
  # The functions are those of the libraries in Debian 12; some are deprecated in newer versions.
  -Wno-deprecated-declarations
  -fno-common -fno-strict-aliasing -fno-omit-frame-pointer
  # pprof/rows/heap_unscale.c must give the same bits on every machine.
  -ffp-contract=off)
# What a function may assume of mutexes (base/mutex.h) is checked by Clang alone.
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
  target_compile_options(project_flags INTERFACE
    -Wthread-safety -Wno-gcc-compat)
endif()

add_library(project_strict INTERFACE)
target_link_libraries(project_strict INTERFACE project_flags)
target_compile_options(project_strict INTERFACE
  -Wconversion -Wno-sign-conversion -Wcast-qual -Wcast-align
  -Wdouble-promotion -Wnull-dereference)
# Against what a bug in memory could be used for. Sanitizers have their own.
if(NOT SANITIZE)
  target_compile_options(project_flags INTERFACE
    -fstack-protector-strong -fstack-clash-protection)
  target_link_options(project_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64")
    target_compile_options(project_flags INTERFACE -fcf-protection=full)
    target_link_options(project_flags INTERFACE -Wl,-z,ibt,-z,shstk)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64")
    target_compile_options(project_flags INTERFACE -mbranch-protection=standard)
  endif()
  # It needs optimisation.
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(project_flags INTERFACE _FORTIFY_SOURCE=2)
  endif()
endif()
if(WERROR)
  target_compile_options(project_flags INTERFACE -Werror)
endif()
if("address" IN_LIST SANITIZE)
  target_compile_definitions(project_flags INTERFACE WITH_ASAN)
endif()
if(FUZZ)
  target_compile_options(project_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
foreach(san IN LISTS SANITIZE)
  target_compile_options(project_flags INTERFACE
    -fsanitize=${san} -fno-sanitize-recover=all)
  target_link_options(project_flags INTERFACE -fsanitize=${san})
endforeach()

# What is released must not depend on the folder that it is built in. Other builds
# keep whole paths, by which debuggers find the sources.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  set(relative -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=./build)
  target_compile_options(project_flags INTERFACE ${relative})
  target_link_options(project_flags INTERFACE ${relative}) # link-time optimisation writes debug information, too
endif()

# Across files where the linker can: a twelfth of the time of merges.
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  include(CheckIPOSupported)
  check_ipo_supported(RESULT ipo OUTPUT ipo_why LANGUAGES C)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ${ipo})
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_C_COMPILE_OPTIONS_IPO -flto=auto -fno-fat-lto-objects) # on all cores
  endif()
endif()
