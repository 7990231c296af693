// hang_test.cc: programs that hang in the ways that people meet, each found and shown by its stack.
// Prints how many seconds after its last sign of life each was found.
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/experiments.h"

namespace dt {
namespace {

constexpr char kPython[] = "/usr/bin/python3";

struct Hang {
  const char* name;
  int ranks;
  const char* script;  // hangs after its last report
  const char* shown;   // in the log of the rank at fault
};

// The data loader's child and the parent that waits for it are two processes; both are shown.
const Hang kHangs[] = {
    {"InPython", 1, R"(
def wait_for_lock():
    while True: pass
wait_for_lock()
)",
     "in wait_for_lock"},
    {"InC", 1, R"(
import ctypes
def call_library():
    ctypes.CDLL(None).pause()
call_library()
)",
     "in call_library"},
    {"InACollectiveOnOneRankOfTwo", 2, R"(
import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
def all_reduce():  # rank 0 waits for what rank 1 never sends
    server = socket.create_server(address)
    server.accept()[0].recv(1)
def forgotten_branch():
    import signal
    signal.pause()
all_reduce() if os.environ["RANK"] == "0" else forgotten_branch()
)",
     "in forgotten_branch"},
    {"InADataLoadersChild", 1, R"(
import multiprocessing
def decode(queue):
    import signal
    signal.pause()
queue = multiprocessing.get_context("fork").Queue()
multiprocessing.get_context("fork").Process(target=decode, args=(queue,)).start()
queue.get()
)",
     "in decode"},
    {"AtExit", 1, R"(
import threading
threading.Thread(target=threading.Event().wait).start()
)",
     "in _shutdown"},
};

class HangTest : public FleetTest, public ::testing::WithParamInterface<Hang> {};

TEST_P(HangTest, IsFoundAndShownByItsStack) {
  if (access(kPython, X_OK) != 0) GTEST_SKIP() << "there is no " << kPython;
  const Hang& hang = GetParam();
  cluster_.StartCoordinator();
  for (int i = 0; i < hang.ranks; ++i) {
    cluster_.StartWorker(absl::StrCat("w", i), {"--program-runner", DTPROGRAM});
  }
  ASSERT_TRUE(cluster_.AwaitWorkers(static_cast<size_t>(hang.ranks)));
  const std::string file = cluster_.folder() / "hang.py";
  const std::string sign = cluster_.folder() / "sign";
  std::ofstream(file) << "import os, time\n"
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
  for (const std::string& word : {std::string(kPython), file}) {
    spec.mutable_base()->add_command(word);
  }
  spec.mutable_base()->mutable_resources()->set_gpus(hang.ranks);
  // Without tools: Python shows its own stack.
  v1::Label& path = *spec.mutable_base()->mutable_resources()->add_env();
  path.set_key("PATH");
  path.set_value("/no/such");
  spec.mutable_base()->mutable_timeout()->set_report("2s");
  spec.mutable_base()->mutable_retries()->set_max(0);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 1)) << cluster_.Logs(experiment);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED)) << cluster_.Logs(experiment);
  const v1::AttemptSummary attempt = cluster_.Explain(experiment).attempts(0);
  double sign_s = 0;
  std::ifstream(sign) >> sign_s;
  std::cout << hang.name << ": ended "
            << static_cast<double>(attempt.ended_wall_ms()) / 1000 - sign_s
            << " s after its last report\n";
  EXPECT_EQ(attempt.cause(), v1::CAUSE_HANG);
  EXPECT_TRUE(testing::Await([&] {
    return cluster_.Logs(experiment).find(hang.shown) != std::string::npos;
  })) << cluster_.Logs(experiment);
}

INSTANTIATE_TEST_SUITE_P(Ways, HangTest, ::testing::ValuesIn(kHangs),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace dt
