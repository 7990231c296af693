// hang_test.cc: programs that hang in the ways that people meet, each found and shown by its stack.
// Prints how many seconds after its last sign of life each was found.
#include "report/words/hang.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/e2e/python_with.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

constexpr char kPython[] = "/usr/bin/python3";

struct Hang {
  const char* name;
  int ranks;
  const char* script;      // hangs after its last report
  const char* function;    // in which the rank at fault hangs
  const char* setup = "";  // before the report
};

// The data loader's child and the parent that waits for it are two processes; both are shown.
const Hang kHangs[] = {
    {"InPython", 1, R"(
def wait_for_lock():
    while True: pass
wait_for_lock()
)",
     "wait_for_lock"},
    {"InC", 1, R"(
import ctypes
def call_library():
    ctypes.CDLL(None).pause()
call_library()
)",
     "call_library"},
    {"InASocketOnOneRankOfTwo", 2, R"(
import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
def receive():  # rank 0 waits for what rank 1 never sends
    server = socket.create_server(address)
    server.accept()[0].recv(1)
def forgotten_branch():
    import signal
    signal.pause()
receive() if os.environ["RANK"] == "0" else forgotten_branch()
)",
     "forgotten_branch"},
    {"InADataLoadersChild", 1, R"(
import multiprocessing
def decode(queue):
    import signal
    signal.pause()
queue = multiprocessing.get_context("fork").Queue()
multiprocessing.get_context("fork").Process(target=decode, args=(queue,)).start()
queue.get()
)",
     "decode"},
    {"AtExit", 1, R"(
import threading
threading.Thread(target=threading.Event().wait).start()
)",
     "_shutdown"},
};

// The first all_reduce shows that the ranks are connected. Importing torch takes seconds, so it
// comes before the report.
const Hang kAllReduce = {"InAnAllReduceOnOneRankOfTwo", 2, R"(
def train():
    dist.all_reduce(torch.ones(1))
def forgotten_branch():
    import signal
    signal.pause()
train() if dist.get_rank() == 0 else forgotten_branch()
)",
                         "forgotten_branch", R"(
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
dist.all_reduce(torch.ones(1))
)"};

struct LogReader {
  testing::Cluster& cluster;
  absl::StatusOr<v1::ReadLogsResponse> ReadLogs(const v1::ReadLogsRequest& request) {
    return cluster.LogPage(request);
  }
};

class HangTest : public FleetTest {
 protected:
  void Expect(const Hang& hang, const std::string& python,
              const std::map<std::string, std::string>& env = {}) {
    cluster_.StartCoordinator();
    for (int i = 0; i < hang.ranks; ++i) {
      cluster_.StartWorker(absl::StrCat("w", i), {"--program-runner", DTPROGRAM}, env);
    }
    ASSERT_TRUE(cluster_.AwaitWorkers(static_cast<size_t>(hang.ranks)));
    const std::string sign = cluster_.folder() / "sign";
    const uint64_t experiment = cluster_.Submit(ProgramOf(hang, python, sign));
    ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 1, std::chrono::minutes(2)))
        << cluster_.Logs(experiment);
    ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED)) << cluster_.Logs(experiment);
    const v1::AttemptSummary attempt = cluster_.Explain(experiment).attempts(0);
    double sign_s = 0;
    std::ifstream(sign) >> sign_s;
    std::cout << hang.name << ": ended "
              << static_cast<double>(attempt.ended_wall_ms()) / 1000 - sign_s
              << " s after its last report\n";
    EXPECT_EQ(attempt.cause(), v1::CAUSE_HANG);
    EXPECT_TRUE(testing::Await([&] { return Shows(experiment, hang); }))
        << cluster_.Logs(experiment);
  }

 private:
  v1::ExperimentSpec ProgramOf(const Hang& hang, const std::string& python,
                               const std::string& sign) {
    const std::string file = cluster_.folder() / "hang.py";
    std::ofstream(file) << hang.setup
                        << "import os, time\n"
                           "if os.environ['DTRAIN_RANK'] == '0':\n"
                           "    print('{\"step\": 1, \"loss\": 2}', flush=True)\n"
                           "    open('"
                        << sign << "', 'w').write(str(time.time()))\n"
                        << hang.script;
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"command", "resources.gpus", "resources.device", "seed", "retries.max",
                             "timeout.report", "resources.env"}) {
      spec.add_explicit_paths(path);
    }
    for (const std::string& word : {python, file}) spec.mutable_base()->add_command(word);
    spec.mutable_base()->mutable_resources()->set_gpus(hang.ranks);
    // Without tools: Python shows its own stack.
    v1::Label& path = *spec.mutable_base()->mutable_resources()->add_env();
    path.set_key("PATH");
    path.set_value("/no/such");
    spec.mutable_base()->mutable_timeout()->set_report("2s");
    spec.mutable_base()->mutable_retries()->set_max(0);
    return spec;
  }

  // Returns whether the function is among the innermost frames of a process of the last rank.
  bool Shows(uint64_t experiment, const Hang& hang) {
    LogReader reader{cluster_};
    const auto ranks = report::ReadHang(reader, cluster_.Explain(experiment));
    if (!ranks.ok()) return false;
    for (const report::HungRank& rank : *ranks) {
      for (const report::HungProcess& process : rank.processes) {
        const bool shown = std::any_of(
            process.frames.begin(), process.frames.end(),
            [&hang](const std::string& frame) { return absl::StartsWith(frame, hang.function); });
        if (shown && rank.rank == hang.ranks - 1) return true;
      }
    }
    return false;
  }
};

class EachHangTest : public HangTest, public ::testing::WithParamInterface<Hang> {};

TEST_P(EachHangTest, IsFoundAndShownByItsStack) {
  if (access(kPython, X_OK) != 0) GTEST_SKIP() << "there is no " << kPython;
  Expect(GetParam(), kPython);
}

INSTANTIATE_TEST_SUITE_P(Ways, EachHangTest, ::testing::ValuesIn(kHangs),
                         [](const auto& tested) { return tested.param.name; });

TEST_F(HangTest, AnAllReduceOfGlooOnOneRankOfTwoIsFoundAndBothRanksAreShown) {
  const std::optional<Python> python = PythonWith("torch");
  if (!python) GTEST_SKIP() << "no python3 imports torch; " << kMakesOne;
  // The program's PATH has no tools.
  Expect(kAllReduce, python->path == "python3" ? kPython : python->path, python->env);
}

}  // namespace
}  // namespace dt
