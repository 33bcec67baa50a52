# The commit that is built, "" outside of a checkout. CMake looks again when it changes.
set(EVERPROF_REVISION "")
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
    OUTPUT_VARIABLE EVERPROF_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(EXISTS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/.git/logs/HEAD)
  endif()
endif()
set_source_files_properties(cmd/cli/cmd.c cmd/serve/process.c cmd/serve/serve.c PROPERTIES COMPILE_DEFINITIONS
  EVERPROF_REVISION="${EVERPROF_REVISION}")
