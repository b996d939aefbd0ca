// The main of a test program that uses gRPC. As our own processes it leaves without destroying what
// threads of gRPC still use; GoogleTest's main returns, and crashed there once in a hundred runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/process/crash_report.h"
#include "lib/process/exit.h"

int main(int argc, char** argv) {
  paceline::process::ReportCrashes(argv[0]);
  ::testing::InitGoogleMock(&argc, argv);
  paceline::process::LeaveProcess(RUN_ALL_TESTS());
}
