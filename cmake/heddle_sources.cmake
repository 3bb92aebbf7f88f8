# SPDX-License-Identifier: Apache-2.0
# Sources are found by their names: x.cpp is built into its folder's target, x_test.cpp and x_bench.cpp stand beside it.

# The sources under the given folders that are neither tests nor benchmarks.
function(heddle_glob_sources result)
  set(found)
  foreach(folder IN LISTS ARGN)
    file(GLOB_RECURSE here CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
    list(APPEND found ${here})
  endforeach()
  list(FILTER found EXCLUDE REGEX "_(test|bench)\\.cpp$")
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The sources under one folder that end in _KIND.cpp.
function(heddle_glob_twins result folder kind)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*_${kind}.cpp")
  set(${result} ${found} PARENT_SCOPE)
endfunction()
