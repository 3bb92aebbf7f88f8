# SPDX-License-Identifier: Apache-2.0
# What is installed, and the Debian package of it.
include(CMakePackageConfigHelpers)

install(TARGETS heddle EXPORT heddle LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT heddle NAMESPACE heddle:: FILE heddle-targets.cmake DESTINATION "${HEDDLE_INSTALL_CMAKEDIR}")
install(DIRECTORY include/heddle DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp")
if(TARGET heddle_command)
  set_target_properties(heddle_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS heddle_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(HEDDLE_PROGRAM_TARGETS)
  install(TARGETS ${HEDDLE_PROGRAM_TARGETS} ${HEDDLE_CASE_TARGETS} LIBRARY DESTINATION "${HEDDLE_INSTALL_PROGRAMDIR}")
  install(FILES ${HEDDLE_CASE_FILES} DESTINATION "${HEDDLE_INSTALL_PROGRAMDIR}")
endif()

configure_package_config_file(cmake/heddle-config.cmake.in heddle-config.cmake
  INSTALL_DESTINATION "${HEDDLE_INSTALL_CMAKEDIR}")
write_basic_package_version_file(heddle-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/heddle-config.cmake" "${PROJECT_BINARY_DIR}/heddle-config-version.cmake"
  cmake/heddle_program.cmake DESTINATION "${HEDDLE_INSTALL_CMAKEDIR}")
configure_file(cmake/heddle.pc.in heddle.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/heddle.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)

if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME heddle)
  set(CPACK_PACKAGE_VENDOR "The Heddle authors")
  set(CPACK_PACKAGE_CONTACT "The Heddle authors <heddle@localhost>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_PACKAGE_DESCRIPTION "Heddle runs a program of tasks, of symmetric memory windows and of signals, written once\
 in C++, on the cores of this machine. The package holds the library, its headers, the heddle command and its programs.")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  include(CPack)
endif()
