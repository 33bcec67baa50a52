# The web UI (web/ui): node bundles it, and its files become a part of the
# program. Without node, -DWITH_UI=OFF builds the plain pages alone.
set(UI ${PROJECT_SOURCE_DIR}/web/ui)
set(UI_OUT ${PROJECT_BINARY_DIR}/ui)
file(MAKE_DIRECTORY ${UI_OUT})
if(NOT WITH_UI)
  file(CONFIGURE OUTPUT ${UI_OUT}/assets_table.c CONTENT
    "#include \"web/pages/assets.h\"\n\nconst struct asset assets[] = { { 0 } };\n")
  target_sources(web PRIVATE ${UI_OUT}/assets_table.c)
  return()
endif()

find_program(NODE node)
find_program(NPM npm)
if(NOT NODE OR NOT NPM)
  message(FATAL_ERROR "The web UI needs node and npm: install the packages "
    "nodejs and npm, or build without it: -DWITH_UI=OFF")
endif()
enable_language(ASM)
file(GLOB_RECURSE UI_SOURCES CONFIGURE_DEPENDS
  ${UI}/*.ts ${UI}/*.tsx ${UI}/*.css ${UI}/*.svg ${UI}/*.html)
list(FILTER UI_SOURCES EXCLUDE REGEX /node_modules/)
# Not as a rule of the build: every build folder would install them again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${UI}/package-lock.json)
if(${UI}/package-lock.json IS_NEWER_THAN ${UI}/node_modules/.package-lock.json)
  if(NOT TESTS)
    set(UI_OMIT --omit=dev) # what only tests need
  endif()
  message(STATUS "installing what the web UI is built with")
  execute_process(
    COMMAND ${NPM} ci ${UI_OMIT} --ignore-scripts --no-audit --no-fund --loglevel=error
    WORKING_DIRECTORY ${UI} COMMAND_ERROR_IS_FATAL ANY)
endif()
add_custom_command(OUTPUT ${UI_OUT}/assets_table.c ${UI_OUT}/assets_data.S
  COMMAND ${NODE} ${UI}/build.mjs ${UI_OUT}
  DEPENDS ${UI_SOURCES} ${UI}/build.mjs ${UI}/package-lock.json VERBATIM)
target_sources(web PRIVATE ${UI_OUT}/assets_table.c ${UI_OUT}/assets_data.S)
set_source_files_properties(${UI_OUT}/assets_data.S PROPERTIES
  COMPILE_OPTIONS "-I${UI_OUT}" OBJECT_DEPENDS ${UI_OUT}/assets_table.c)
