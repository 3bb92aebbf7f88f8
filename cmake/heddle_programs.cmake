# SPDX-License-Identifier: Apache-2.0
# The shipped programs: each programs/NAME.cpp is the module NAME.so, beside the command in a build.
include(heddle_program)

file(GLOB program_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/programs/*.cpp")
list(FILTER program_sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
set(HEDDLE_PROGRAM_TARGETS)
add_custom_target(heddle_programs)
foreach(source IN LISTS program_sources)
  cmake_path(GET source STEM name)
  set(target heddle_program_${name})
  heddle_add_program(${target} "${source}")
  heddle_compile_options(${target})
  # Eigen's own assertions sit in its innermost loops; the programs check every result anyway.
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Release>:EIGEN_NO_DEBUG>)
  target_link_libraries(${target} PRIVATE Eigen3::Eigen)
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/programs" INSTALL_RPATH "$ORIGIN/../..")
  add_dependencies(heddle_programs ${target})
  list(APPEND HEDDLE_PROGRAM_TARGETS ${target})
endforeach()
