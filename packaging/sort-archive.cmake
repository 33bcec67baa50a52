# SPDX-License-Identifier: Apache-2.0
# Run by cpack for each package that it has made. cpack puts files into archives
# (TGZ, but not DEB) in the order of the folder on the disk: here the archive is
# packed again, sorted by name, so that equal files make equal archives.
if(NOT CPACK_GENERATOR STREQUAL "TGZ")
  return()
endif()
set(time 0)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(time $ENV{SOURCE_DATE_EPOCH})
endif()
set(folder ${CPACK_TEMPORARY_DIRECTORY}/sorted)
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  file(REMOVE_RECURSE ${folder})
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND tar -xzf ${package} -C ${folder} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND tar --sort=name --mtime=@${time} --owner=0 --group=0 --numeric-owner -C ${folder} -c ${CPACK_PACKAGE_FILE_NAME}
    COMMAND gzip -9n
    OUTPUT_FILE ${package} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
