// SPDX-License-Identifier: Apache-2.0
#include "cli/command.hpp"

int main(int argc, char** argv) { return heddle::cli::command(argc, argv); }
