// SPDX-License-Identifier: Apache-2.0
//
// Which sanitizer this translation unit is compiled for: g++ and clang announce it differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define HEDDLE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEDDLE_ASAN 1
#endif
#endif
#ifndef HEDDLE_ASAN
#define HEDDLE_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define HEDDLE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HEDDLE_TSAN 1
#endif
#endif
#ifndef HEDDLE_TSAN
#define HEDDLE_TSAN 0
#endif
