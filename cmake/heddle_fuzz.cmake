# SPDX-License-Identifier: Apache-2.0
# The fuzzers: heddle_fuzz_NAME runs the function NAME of fuzz/targets.hpp under libFuzzer. scripts/fuzz builds them.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "HEDDLE_FUZZ needs clang, which has libFuzzer: use the preset fuzz")
endif()

foreach(name snapshot failure)
  add_executable(heddle_fuzz_${name} fuzz/fuzzer.cpp fuzz/snapshot.cpp fuzz/failure.cpp)
  heddle_compile_options(heddle_fuzz_${name})
  target_compile_definitions(heddle_fuzz_${name} PRIVATE HEDDLE_FUZZ_TARGET=${name})
  target_include_directories(heddle_fuzz_${name} PRIVATE src "${PROJECT_SOURCE_DIR}")
  target_link_libraries(heddle_fuzz_${name} PRIVATE heddle nlohmann_json::nlohmann_json fmt::fmt)
  target_link_options(heddle_fuzz_${name} PRIVATE -fsanitize=fuzzer)
endforeach()
target_sources(heddle_fuzz_snapshot PRIVATE fuzz/snapshot_mutator.cpp)
