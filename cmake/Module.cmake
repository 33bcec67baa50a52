# add_module(<name> [SMALL] SOURCES ... [DEPENDS ...] [PUBLIC ...] [LIBRARIES ...]):
# one static library per folder. SOURCES are file names without ".c"; PUBLIC
# names the headers that other modules may include; LIBRARIES are pkg-config
# names. A module that is SMALL is compiled for size where everprof is released
# (docs/decisions.md, 246). The DEPENDS lists are the architecture: read them together in the
# root file.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(add_module name)
  # -DWITH_<NAME>=OFF builds everprof without the module.
  string(TOUPPER WITH_${name} option)
  if(DEFINED ${option} AND NOT ${option})
    return()
  endif()
  cmake_parse_arguments(M "SMALL" "" "SOURCES;DEPENDS;PUBLIC;LIBRARIES" ${ARGN})
  # Nor with what was left out: its users know by a definition of that name.
  foreach(module IN LISTS M_DEPENDS)
    string(TOUPPER WITH_${module} option)
    if(DEFINED ${option} AND NOT ${option})
      list(REMOVE_ITEM M_DEPENDS ${module})
    endif()
  endforeach()
  list(TRANSFORM M_SOURCES PREPEND ${name}/)
  list(TRANSFORM M_SOURCES APPEND .c)
  add_library(${name} STATIC ${M_SOURCES})
  # -iquote, not -I: <bpf/bpf.h> must never find our own bpf/ folder.
  target_compile_options(${name} PUBLIC "SHELL:-iquote ${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${M_DEPENDS} Threads::Threads m
                        PRIVATE project_strict)
  # Sanitizers make unoptimised code slow; the build takes an eighth longer.
  if("address" IN_LIST SANITIZE AND NOT FUZZ)
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(M_SMALL AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${name} PRIVATE -Os)
  endif()
  foreach(library IN LISTS M_LIBRARIES)
    pkg_check_modules(PC_${library} REQUIRED IMPORTED_TARGET ${library})
    target_link_libraries(${name} PUBLIC PkgConfig::PC_${library})
  endforeach()
endfunction()

# What a sanitizer prints, so that a test whose worker leaks fails too:
# Criterion alone passes it.
set(SANITIZER_REPORT
  "ERROR: (Address|Leak)Sanitizer|runtime error:|WARNING: ThreadSanitizer")

# What a program of tests prints when it had to skip all of them (check_skip()): it
# says why, and then that none ran. This property of CTest counts more than a
# failure, so the text must not appear when anything else happened.
set(ALL_SKIPPED "SKIPPED: .*Tested: 0 \\|.* Failing: 0")

# add_unit_test(<module> <unit> [<other module>...]):
# tests/<module>/test_<unit>.c, one executable.
function(add_unit_test module unit)
  set(t test_${module}_${unit})
  add_executable(${t} tests/${module}/test_${unit}.c)
  target_link_libraries(${t} PRIVATE ${module} ${ARGN} project_flags test_runner)
  target_compile_definitions(${t} PRIVATE
    TESTDATA="${PROJECT_SOURCE_DIR}/testdata"
    DOCS="${PROJECT_SOURCE_DIR}/docs")
  add_test(NAME ${module}.${unit} COMMAND ${t} ${TEST_ARGUMENTS})
  set_tests_properties(${module}.${unit} PROPERTIES
    TIMEOUT 900 FAIL_REGULAR_EXPRESSION "${SANITIZER_REPORT}|Tested: 0 "
    SKIP_REGULAR_EXPRESSION "${ALL_SKIPPED}")
endfunction()

# add_unit_tests(<module> <unit>...): several that need nothing else.
function(add_unit_tests module)
  foreach(unit ${ARGN})
    add_unit_test(${module} ${unit})
  endforeach()
endfunction()

# add_fuzzer(<module> <unit> [<corpus>...]): libFuzzer with -DFUZZ=ON, else a
# replay of its own inputs and of the others' that are named.
function(add_fuzzer module unit)
  set(f fuzz_${unit})
  add_executable(${f} tests/fuzz/fuzz_${unit}.c)
  target_link_libraries(${f} PRIVATE ${module} project_flags)
  if(FUZZ)
    target_link_options(${f} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${f} PRIVATE tests/fuzz/replay.c)
    set(corpora ${unit} ${ARGN})
    list(TRANSFORM corpora PREPEND ${PROJECT_SOURCE_DIR}/testdata/fuzz/)
    add_test(NAME fuzz.${unit}
      COMMAND ${f} ${corpora})
    set_tests_properties(fuzz.${unit} PROPERTIES
      FAIL_REGULAR_EXPRESSION "${SANITIZER_REPORT}")
  endif()
endfunction()

# add_integration_test(<name>): tests/integration/test_<name>.py over the
# binary of this build.
function(add_integration_test name)
  add_test(NAME integration.${name}
    COMMAND python3 ${PROJECT_SOURCE_DIR}/tests/integration/test_${name}.py)
  set(env "EVERPROF=$<TARGET_FILE:everprof>;PYTHONDONTWRITEBYTECODE=1")
  if(SANITIZE)
    list(APPEND env "EVERPROF_SLOW=4")
  endif()
  set_tests_properties(integration.${name} PROPERTIES
    ENVIRONMENT "${env}" TIMEOUT 900 LABELS integration SKIP_RETURN_CODE 77
    FAIL_REGULAR_EXPRESSION "${SANITIZER_REPORT}")
endfunction()
