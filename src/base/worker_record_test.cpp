// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <heddle/error.hpp>
#include <string>
#include <vector>

namespace heddle {
namespace {

using State = WorkerRecord::State;

WorkerRecord stuck_one() {
  WorkerRecord worker;
  worker.state = State::kernel;
  worker.worker = "worker 3";
  worker.stuck = true;
  worker.rank = 1;
  worker.task = "smooth";
  worker.block = 2;
  worker.submitted = {"program.cpp", 58};
  worker.function = "smooth_row";
  worker.at = {"smooth.cpp", 31};
  worker.instruction = "smooth_row+0x1c in program.so";
  worker.stack = {"smooth_row (smooth.cpp:31)", "smooth (smooth.cpp:40)"};
  return worker;
}

TEST(WorkerRecord, IsOneSentenceOfWhatIsKnown) {
  WorkerRecord worker = stuck_one();
  EXPECT_EQ(worker.text(),
            "worker 3 is stuck in rank 1, task smooth, block 2 (program.cpp:58): it stands in smooth_row at "
            "smooth.cpp:31 (smooth_row+0x1c in program.so)");
  worker.stuck = false;
  worker.at = {};
  worker.function.clear();
  EXPECT_EQ(worker.text(),
            "worker 3 runs rank 1, task smooth, block 2 (program.cpp:58): it stands at smooth_row+0x1c in program.so");
  WorkerRecord idle;
  idle.worker = "worker 0";
  EXPECT_EQ(idle.text(), "worker 0 did not say where it stands");
  idle.state = State::idle;
  EXPECT_EQ(idle.text(), "worker 0 idles in the dispatcher");
  idle.state = State::program;
  idle.rank = 4;
  EXPECT_EQ(idle.text(), "worker 0 runs the program of rank 4");
}

TEST(WorkerRecord, ReportTellsTheBusyOnesWithTheirCallersAndTheIdleOnesInOneLine) {
  std::vector<WorkerRecord> workers;
  for (int i = 0; i < 11; ++i) {
    workers.emplace_back().worker = "worker " + std::to_string(i);
    workers.back().state = State::idle;
  }
  workers[3] = stuck_one();
  Error error(Code::core_stalled, "it runs too long");
  error.with_workers(workers);
  EXPECT_EQ(error.workers().size(), 11U);
  const std::string report = error.report();
  EXPECT_NE(report.find("    " + stuck_one().text() + "\n      called by smooth (smooth.cpp:40)\n"), std::string::npos)
      << report;
  EXPECT_NE(
      report.find("worker 0, worker 1, worker 2, worker 4, worker 5, worker 6, worker 7, worker 8 and 2 more idle in "
                  "the dispatcher\n"),
      std::string::npos)
      << report;
}

// The names of files come from modules that may be gone when the error is read.
TEST(WorkerRecord, FileNamesOutliveWhoGaveThem) {
  Error error(Code::core_stalled, "it runs too long");
  {
    const std::string file = "a_module_that_goes.cpp";
    WorkerRecord worker = stuck_one();
    worker.at = {file.c_str(), 7};
    error.with_workers({worker});
  }
  EXPECT_EQ(error.workers()[0].at.text(), "a_module_that_goes.cpp:7");
}

}  // namespace
}  // namespace heddle
