// SPDX-License-Identifier: Apache-2.0
//
// A shared library that is no module: it does not define heddle_module.

extern "C" int heddle_test_unrelated();
extern "C" int heddle_test_unrelated() { return 1; }
