# What is installed where; and the Debian package, by ./dev package.
include(GNUInstallDirs)

# The manual page and the completions are made of the program's own tables.
set(REFERENCE ${PROJECT_BINARY_DIR}/reference)
add_custom_command(
  OUTPUT ${REFERENCE}/everprof.1 ${REFERENCE}/everprof ${REFERENCE}/_everprof ${REFERENCE}/everprof.fish
  COMMAND ${CMAKE_COMMAND} -E make_directory ${REFERENCE}
  COMMAND everprof man > ${REFERENCE}/everprof.1
  COMMAND everprof completion bash > ${REFERENCE}/everprof
  COMMAND everprof completion zsh > ${REFERENCE}/_everprof
  COMMAND everprof completion fish > ${REFERENCE}/everprof.fish
  DEPENDS everprof
  VERBATIM)
add_custom_target(reference ALL DEPENDS ${REFERENCE}/everprof.1)

# The units name the program by where it is installed.
foreach(name everprof everprof-agent)
  file(READ examples/${name}.service unit)
  install(CODE "set(name ${name})\nset(unit [==[${unit}]==])")
  install(CODE [[
    string(REPLACE "/usr/bin/" "${CMAKE_INSTALL_PREFIX}/bin/" unit "${unit}")
    set(folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
    file(MAKE_DIRECTORY "${folder}")
    file(WRITE "${folder}/${name}.service" "${unit}")
  ]])
endforeach()
install(TARGETS everprof RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${REFERENCE}/everprof.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${REFERENCE}/everprof DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${REFERENCE}/_everprof DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${REFERENCE}/everprof.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md CHANGELOG.md LICENSE packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(FILES examples/everprof.yaml examples/alerts.yml examples/grafana-dashboard.json
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)

# The package: the configuration is the operator's, the data stay when it goes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME everprof)
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/packaging/cpack.cmake)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "continuous-profiling database that keeps every profile")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS graphviz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/packaging/conffiles ${PROJECT_SOURCE_DIR}/packaging/postinst
  ${PROJECT_SOURCE_DIR}/packaging/prerm ${PROJECT_SOURCE_DIR}/packaging/postrm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/sort-archive.cmake)
set(CPACK_COMPONENTS_ALL Unspecified package)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
install(FILES packaging/everprof.yaml DESTINATION /etc/everprof COMPONENT package EXCLUDE_FROM_ALL)
include(CPack)
