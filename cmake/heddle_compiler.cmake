# SPDX-License-Identifier: Apache-2.0
# Language, optimisation, warnings, sanitizers, compiler cache, and where things are installed.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release" FORCE)
endif()
# Without -DNDEBUG: assertions hold in release too. With line numbers, so that profiles and reports name the source.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
if(HEDDLE_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1 -fno-omit-frame-pointer")
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1 -fno-omit-frame-pointer")
  add_compile_options(-fsanitize=${HEDDLE_SANITIZE} -fno-sanitize-recover=all)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${HEDDLE_SANITIZE})
endif()
if(HEDDLE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(HEDDLE_NATIVE)
  add_compile_options(-march=native)
endif()
add_link_options(-Wl,--as-needed)

# The same layout on every system and in the package; it is relocatable. Modules are found relative to the library.
set(CMAKE_INSTALL_LIBDIR lib CACHE PATH "Where libraries are installed")
include(GNUInstallDirs)
set(HEDDLE_INSTALL_PROGRAMDIR "${CMAKE_INSTALL_LIBDIR}/heddle/programs")
set(HEDDLE_INSTALL_CMAKEDIR "${CMAKE_INSTALL_LIBDIR}/cmake/heddle")

if(HEDDLE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HEDDLE_CCACHE_PROGRAM ccache)
  mark_as_advanced(HEDDLE_CCACHE_PROGRAM)
  if(HEDDLE_CCACHE_PROGRAM)
    # The sloppiness is what ccache needs to cache a source that uses a precompiled header. The build folder is left out
    # of the hash, so that presets with the same flags share their objects; sources are named by absolute paths anyway.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_NOHASHDIR=true CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        "${HEDDLE_CCACHE_PROGRAM}")
  endif()
endif()

# Warnings and code generation of one of our own targets.
function(heddle_compile_options target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor
    $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
    # Source locations in messages name a file from the root of the sources, wherever they were built.
    "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlaps and overflows that are not there in std::string's own operator+ under C++20.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
  endif()
  if(HEDDLE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# Under HEDDLE_UNITY, a dozen sources in one: they share headers, which is most of what compiling them costs. That each
# source includes what it uses, and shadows nothing of its own, is seen in the presets without it.
function(heddle_unity target)
  if(HEDDLE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
    target_compile_options(${target} PRIVATE -Wno-shadow)
  endif()
endfunction()
