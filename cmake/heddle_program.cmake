# SPDX-License-Identifier: Apache-2.0
# heddle_add_program(NAME SOURCE...): a program as a module that `heddle run ./NAME.so` loads. Installed with the
# package: a project that uses find_package(heddle) has it too.

function(heddle_add_program name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE heddle::heddle)
  string(REGEX REPLACE "^heddle_program_" "" output "${name}")
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" OUTPUT_NAME "${output}")
endfunction()
