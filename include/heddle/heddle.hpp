// SPDX-License-Identifier: Apache-2.0
//
// Everything that a program needs.
#pragma once

#include <heddle/block.hpp>
#include <heddle/error.hpp>
#include <heddle/graph.hpp>
#include <heddle/program.hpp>
#include <heddle/session.hpp>
#include <heddle/task.hpp>
#include <heddle/tensor.hpp>
#include <heddle/types.hpp>
#include <heddle/window.hpp>
