# SPDX-License-Identifier: Apache-2.0
# Micro-benchmarks stand beside their sources, one executable a folder; the works with rivals stand in bench/.

foreach(folder base graph window chip host lab doctor)
  heddle_glob_twins(sources src/${folder} bench)
  if(sources)
    add_executable(heddle_${folder}_bench ${sources})
    heddle_compile_options(heddle_${folder}_bench)
    target_include_directories(heddle_${folder}_bench PRIVATE src)
    target_link_libraries(heddle_${folder}_bench PRIVATE heddle benchmark::benchmark_main)
  endif()
endforeach()
if(EXISTS "${PROJECT_SOURCE_DIR}/bench/CMakeLists.txt")
  add_subdirectory(bench)
endif()
