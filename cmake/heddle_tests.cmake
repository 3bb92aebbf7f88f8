# SPDX-License-Identifier: Apache-2.0
# One executable for each folder of src, one for programs/, one for tests/; each test of it is one test of ctest.
include(GoogleTest)

# Modules that tests load, among them broken ones: tests/modules/NAME.cpp is NAME.so.
include(heddle_program)
file(GLOB module_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/modules/*.cpp")
set(test_modules)
foreach(source IN LISTS module_sources)
  cmake_path(GET source STEM name)
  heddle_add_program(heddle_test_module_${name} "${source}")
  heddle_compile_options(heddle_test_module_${name})
  set_target_properties(heddle_test_module_${name} PROPERTIES
    OUTPUT_NAME "${name}" LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/modules")
  list(APPEND test_modules heddle_test_module_${name})
endforeach()

# What all test executables share; it has to be the same in each for one precompiled header to serve them all.
add_library(heddle_test_settings INTERFACE)
target_include_directories(heddle_test_settings INTERFACE src "${PROJECT_SOURCE_DIR}" programs)
target_link_libraries(heddle_test_settings INTERFACE heddle::heddle GTest::gmock GTest::gtest
  nlohmann_json::nlohmann_json fmt::fmt Eigen3::Eigen Boost::context Threads::Threads ${CMAKE_DL_LIBS})
if(TARGET heddle_cli)
  target_link_libraries(heddle_test_settings INTERFACE $<TARGET_NAME_IF_EXISTS:heddle_cli_parts> heddle_cli)
endif()
# The library is what is tested as it is installed; the tests themselves only have to be compiled soon.
target_compile_options(heddle_test_settings INTERFACE "$<$<CONFIG:Release>:SHELL:-O1 -g0>")
target_compile_definitions(heddle_test_settings INTERFACE
  HEDDLE_TEST_COMMAND="${PROJECT_BINARY_DIR}/heddle"
  HEDDLE_TEST_PROGRAM_DIR="${PROJECT_BINARY_DIR}/programs"
  HEDDLE_TEST_CASE_DIR="${PROJECT_BINARY_DIR}/cases"
  HEDDLE_TEST_MODULE_DIR="${PROJECT_BINARY_DIR}/tests/modules"
  HEDDLE_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")

# An executable, though it is never run: position-independent code of a library and of an executable differ.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/heddle_test_headers.cpp" CONTENT "int main() { return 0; }\n")
add_executable(heddle_test_headers "${PROJECT_BINARY_DIR}/heddle_test_headers.cpp")
heddle_compile_options(heddle_test_headers)
target_link_libraries(heddle_test_headers PRIVATE heddle_test_settings)
target_compile_options(heddle_test_headers PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
# g++ keeps the time of each header in what it has precompiled: of a header that was changed and changed back, a copy
# from ccache would be refused.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_target_properties(heddle_test_headers PROPERTIES CXX_COMPILER_LAUNCHER "")
endif()
target_precompile_headers(heddle_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>
  <fmt/format.h> <nlohmann/json.hpp> <heddle/heddle.hpp> <algorithm> <filesystem> <fstream> <functional> <map> <memory>
  <random> <set> <string> <thread> <vector>)

function(heddle_add_test_executable group)
  if(NOT ARGN)
    return()
  endif()
  set(target heddle_${group}_test)
  add_executable(${target} ${ARGN})
  heddle_compile_options(${target})
  target_link_libraries(${target} PRIVATE heddle_test_settings GTest::gtest_main)
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  target_precompile_headers(${target} REUSE_FROM heddle_test_headers)
  set(used ${HEDDLE_PROGRAM_TARGETS} ${HEDDLE_CASE_TARGETS} ${test_modules})
  if(TARGET heddle_command)
    list(APPEND used heddle_command)
  endif()
  if(used)
    add_dependencies(${target} ${used})
  endif()
  gtest_discover_tests(${target} TEST_PREFIX "${group}/" DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${HEDDLE_TEST_TIMEOUT} LABELS ${group})
endfunction()

foreach(folder base snapshot graph window chip host lab doctor cli)
  heddle_glob_twins(sources src/${folder} test)
  heddle_add_test_executable(${folder} ${sources})
endforeach()
heddle_glob_twins(sources programs test)
heddle_add_test_executable(programs ${sources})
heddle_glob_twins(sources fuzz test)
heddle_add_test_executable(fuzz ${sources} fuzz/snapshot.cpp fuzz/failure.cpp)
heddle_glob_twins(sources tests test)
heddle_glob_sources(shared tests)
list(FILTER shared EXCLUDE REGEX "/tests/modules/")
heddle_add_test_executable(whole ${sources} ${shared})

# Pages of reports, in a browser.
if(TARGET heddle_command)
  add_test(NAME whole/report_in_a_browser
    COMMAND "${PROJECT_SOURCE_DIR}/scripts/check-report" $<TARGET_FILE:heddle_command> "${PROJECT_BINARY_DIR}/cases")
  set_tests_properties(whole/report_in_a_browser PROPERTIES TIMEOUT 300 LABELS whole)
endif()
