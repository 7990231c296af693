// top_command_test.cc: dtctl top without a terminal: one print, and its calls to the coordinator.
#include "tests/cli/commands/fixture.h"

namespace dt::cli {
namespace {

class TopCommandTest : public CommandTest {
 protected:
  TopCommandTest() {
    AddExperiment(12, 3);
    control_.Edit([this](FakeControl::World& world) {
      v1::ExperimentSummary& summary = *world.experiments[12].found.mutable_summary();
      summary.set_state(v1::EXPERIMENT_RUNNING);
      summary.set_running(1);
      summary.set_pending(2);
      Trial(world, 12, 1).set_state(v1::TRIAL_RUNNING);
      Trial(world, 12, 1).add_workers("gpu07/0");
      world.status.set_program_version("0.2.0");
      v1::WorkerSummary& worker = world.workers.emplace_back();
      worker.set_worker("gpu07/0");
      worker.set_state("busy");
      worker.set_doing("12/1#1 rank 0");
    });
  }

  static size_t Widest(const std::string& text) {
    size_t widest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
    return widest;
  }
};

TEST_F(TopCommandTest, APipeGetsEverythingOnceAndNoEscapeCodes) {
  const Ran ran = Run({"top"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const char* part : {"dtrain 0.2.0 at ", "1 of 1", "12/1", "12/1#1 rank 0",
                           "both slots are taken", "2  from 12/2"}) {
    EXPECT_TRUE(Has(ran.out, part)) << "lacks " << part << "\n" << ran.out;
  }
  EXPECT_FALSE(Has(ran.out, "\x1b")) << ran.out;
  EXPECT_FALSE(Has(ran.out, "quit")) << ran.out;
}

TEST_F(TopCommandTest, OnceEndsAtATerminalTooAndSoDoesADumbOne) {
  tty_ = true;
  columns_ = 60;
  const Ran once = Run({"top", "--once", "--no-color"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_FALSE(Has(once.out, "\x1b")) << once.out;
  environment_["TERM"] = "dumb";
  environment_["LANG"] = "C";
  const Ran dumb = Run({"top"});
  EXPECT_EQ(dumb.code, 0) << dumb.err;
  EXPECT_EQ(Widest(dumb.out), 60u) << dumb.out;
  for (const char c : dumb.out) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << dumb.out;
}

TEST_F(TopCommandTest, APipeIsAsWideAsWatchSays) {
  environment_["LANG"] = "C";
  EXPECT_EQ(Widest(Run({"top"}).out), 80u);
  environment_["COLUMNS"] = "132";
  EXPECT_EQ(Widest(Run({"top"}).out), 132u);
  environment_["COLUMNS"] = "-1";
  EXPECT_EQ(Widest(Run({"top"}).out), 80u);
}

TEST_F(TopCommandTest, AnIntervalThatWouldFloodTheCoordinatorIsRefused) {
  const Ran ran = Run({"top", "--interval", "10ms"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(Has(ran.err, "--interval is 10ms; it must be at least 100ms")) << ran.err;
  EXPECT_EQ(Run({"top", "--interval", "soon"}).code, 2);
}

TEST_F(TopCommandTest, WaitingTrialsAreAskedForByOnePageOfAFewExperiments) {
  for (uint64_t id = 20; id < 50; ++id) AddExperiment(id, 150);
  const Ran ran = Run({"top"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  int pages = 0;
  for (const v1::ListTrialsRequest& request : control_.Snapshot().trial_lists) {
    const bool waiting = request.states_size() == 1 && request.states(0) == v1::TRIAL_PENDING;
    if (!waiting) continue;
    EXPECT_EQ(request.page_size(), 100);
    ++pages;
  }
  EXPECT_EQ(pages, 10);
  EXPECT_TRUE(Has(ran.out, "902  from 12/2")) << ran.out;
  EXPECT_TRUE(Has(ran.out, "3,600  further behind")) << ran.out;
}

TEST_F(TopCommandTest, AnExperimentDeletedBetweenTwoCallsHasNoTrials) {
  control_.SetCallHook([](std::string_view method, int, FakeControl::World&) {
    return method == "ListTrials" ? grpc::Status(grpc::StatusCode::NOT_FOUND, "experiment 12")
                                  : grpc::Status::OK;
  });
  EXPECT_EQ(Run({"top"}).code, 0);
}

TEST_F(TopCommandTest, WithoutACoordinatorItReportsThat) {
  const Ran ran = RunAsWritten({"top", "--address", "unix:/nonexistent/x"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_TRUE(Has(ran.err, "no coordinator answers")) << ran.err;
}

}  // namespace
}  // namespace dt::cli
