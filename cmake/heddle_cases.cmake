# SPDX-License-Identifier: Apache-2.0
# The hang gallery: each cases/NAME/NAME.cpp is the module NAME.so, beside the programs in a build, and its case.json lies
# beside it as NAME.case.json. A case without a source is one of a program in programs/.
include(heddle_program)

file(GLOB case_files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cases/*/case.json")
file(GLOB case_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cases/*/*.cpp")
set(HEDDLE_CASE_TARGETS)
set(HEDDLE_CASE_FILES)
add_custom_target(heddle_cases)
foreach(file IN LISTS case_files)
  cmake_path(GET file PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  configure_file("${file}" "${PROJECT_BINARY_DIR}/cases/${name}.case.json" COPYONLY)
  list(APPEND HEDDLE_CASE_FILES "${PROJECT_BINARY_DIR}/cases/${name}.case.json")
endforeach()
foreach(source IN LISTS case_sources)
  cmake_path(GET source STEM name)
  set(target heddle_case_${name})
  heddle_add_program(${target} "${source}")
  heddle_compile_options(${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME "${name}" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/cases" INSTALL_RPATH "$ORIGIN/../..")
  add_dependencies(heddle_cases ${target})
  list(APPEND HEDDLE_CASE_TARGETS ${target})
endforeach()
