// dtworker_test.cc: dtworker as a process, with a fake coordinator and the fake trainer.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "common/limits.h"
#include "common/net/token.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/fake_fleet.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/temp_folder.h"
#include "worker/shell/device.h"

namespace dt {
namespace {

using testing::Await;
using testing::ChildProcess;
using testing::ChildrenOf;
using testing::FakeFleet;
using testing::ProcessAlive;
namespace v1 = ::dtrain::v1;

class DtworkerTest : public ::testing::Test {
 protected:
  void StartWorker(const std::vector<std::string>& more = {},
                   const std::map<std::string, std::string>& env = {}) {
    std::vector<std::string> command = {
        DTWORKER,    "--coordinator", address_,    "--name",        "w",
        "--storage", folder_ / "st",  "--run-dir", folder_ / "run", "--slot",
        "cpu:1",     "--threads",     "1",         "--trainer",     FAKE_TRAINER};
    command.insert(command.end(), more.begin(), more.end());
    worker_ = ChildProcess(command, folder_ / "worker.log", env);
  }
  // `script` is for the fake trainer.
  static v1::Orders MakeOrders(int steps, const std::string& script = "", uint8_t token = 1) {
    v1::Orders orders;
    v1::Assigned& assigned = *orders.mutable_attempt();
    assigned.set_experiment(1);
    assigned.set_trial(1);
    assigned.set_attempt(1);
    assigned.set_attempt_token(std::string(16, static_cast<char>(token)));
    assigned.set_world_size(1);
    assigned.mutable_spec()->mutable_train()->set_max_steps(steps);
    assigned.mutable_spec()->mutable_data()->set_train(script);
    return orders;
  }
  void Order(int steps, const std::string& script = "", uint8_t token = 1) {
    orders_ = MakeOrders(steps, script, token);
    fleet_.Order(orders_);
  }
  // Orders an attempt after the storage has begun to hang. A process that opens the file that this
  // returns waits for a writer, as with a network file system that does not answer.
  std::string OrderWithHangingStorage(int steps, const std::string& script = "") {
    EXPECT_TRUE(Await([&] { return !fleet_.Hellos().empty(); }));
    std::string marker = folder_ / "st/dtrain-storage-id";
    std::filesystem::rename(marker, marker + ".kept");
    EXPECT_EQ(mkfifo(marker.c_str(), 0600), 0);
    orders_ = MakeOrders(steps, script);
    orders_.mutable_attempt()->add_registered()->set_path("1/1/a0/step-1");
    fleet_.Order(orders_);
    return marker;
  }
  // Counts how often each step's row arrived.
  std::map<uint64_t, int> Rows() const {
    std::map<uint64_t, int> count;
    for (const v1::Item& item : fleet_.Items()) {
      v1::StepRows rows;
      rows.ParseFromString(item.rows().rows());
      for (const v1::StepRow& row : rows.rows()) ++count[row.step()];
    }
    return count;
  }
  void ExpectEachRowOnce(uint64_t steps) const {
    const auto rows = Rows();
    EXPECT_EQ(rows.size(), steps);
    for (const auto& [step, count] : rows) EXPECT_EQ(count, 1) << "step " << step;
  }
  pid_t AwaitTrainer() {
    pid_t trainer = -1;
    EXPECT_TRUE(Await([&] {
      const auto children = ChildrenOf(worker_.pid());
      if (!children.empty()) trainer = children[0];
      return trainer > 0;
    }));
    return trainer;
  }
  bool AwaitSteps(uint64_t steps) {
    return Await([&] { return fleet_.LatestStep() >= steps; });
  }
  // Makes the file old, and waits until it is touched again.
  static bool AwaitTouch(const std::string& file,
                         std::chrono::milliseconds limit = testing::kPatience) {
    const timespec long_ago[2] = {};
    utimensat(AT_FDCWD, file.c_str(), long_ago, 0);
    struct stat facts {};
    return Await([&] { return stat(file.c_str(), &facts) == 0 && facts.st_mtim.tv_sec > 0; },
                 limit);
  }
  int ExitCode() {
    const auto status = worker_.AwaitExit();
    return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  }
  bool AwaitEnd() {
    return Await([&] { return fleet_.EndCause() != v1::CAUSE_UNSPECIFIED; });
  }

  testing::TempFolder folder_;
  const std::string address_ = "unix:" + folder_.path() + "/coordinator";
  FakeFleet fleet_{address_};
  v1::Orders orders_;
  ChildProcess worker_;
};

TEST_F(DtworkerTest, TrainsItsOrdersAndReportsEachStepOnce) {
  StartWorker({"--label", "rack=7"});
  Order(700);
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
  ExpectEachRowOnce(700);
  const v1::Hello hello = fleet_.Hellos().at(0);
  EXPECT_EQ(hello.worker(), "w");
  EXPECT_EQ(hello.device(), "cpu");
  EXPECT_EQ(hello.storage_id().size(), 32u);
  EXPECT_EQ(hello.labels(0).value(), "7");
}

TEST_F(DtworkerTest, ATrainerServesManyAttempts) {
  StartWorker();
  pid_t trainer = -1;
  for (uint8_t token = 1; token <= 3; ++token) {
    Order(5, "", token);
    ASSERT_TRUE(Await([&] {
      const auto items = fleet_.Items();
      return !items.empty() && items.back().has_ended() &&
             items.back().attempt_token() == orders_.attempt().attempt_token();
    }));
    // Before, it may see the process that a worker starts to look for the trainer's libraries.
    if (token == 1) trainer = AwaitTrainer();
  }
  EXPECT_EQ(AwaitTrainer(), trainer);
}

TEST_F(DtworkerTest, KillingTheWorkerEndsItsTrainer) {
  StartWorker();
  Order(100000, "hang_at=20");
  ASSERT_TRUE(AwaitSteps(19));
  const pid_t trainer = AwaitTrainer();
  worker_.Signal(SIGKILL);
  ASSERT_TRUE(worker_.AwaitExit());
  EXPECT_TRUE(Await([&] { return !ProcessAlive(trainer); }));
}

TEST_F(DtworkerTest, KillingTheTrainerIsACrashAndTheNextAttemptRuns) {
  StartWorker();
  Order(100000);
  ASSERT_TRUE(AwaitSteps(10));
  const pid_t trainer = AwaitTrainer();
  kill(trainer, SIGKILL);
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_TRAINER_CRASH);
  Order(10, "", 2);
  EXPECT_TRUE(Await([&] { return fleet_.EndCause() == v1::CAUSE_FINISHED; }));
}

TEST_F(DtworkerTest, TrainingOutlivesTheCoordinatorAndNothingIsLostOrDoubled) {
  StartWorker();
  Order(3000);
  ASSERT_TRUE(AwaitSteps(50));
  const pid_t trainer = AwaitTrainer();
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = fleet_.LatestStep();
    fleet_.Stop();
    fleet_.Serve();
    ASSERT_TRUE(Await([&] {
      return fleet_.LatestStep() > before || fleet_.EndCause() != v1::CAUSE_UNSPECIFIED;
    }));
  }
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
  ExpectEachRowOnce(3000);
  EXPECT_EQ(AwaitTrainer(), trainer);
  const auto hellos = fleet_.Hellos();
  ASSERT_GE(hellos.size(), 4u);
  EXPECT_EQ(hellos.front().instance(), hellos.back().instance());
  EXPECT_GT(hellos.back().session(), hellos.front().session());
}

TEST_F(DtworkerTest, CancelEndsEvenADeafTrainer) {
  StartWorker();
  Order(100000, "hang_at=20");
  ASSERT_TRUE(AwaitSteps(19));
  const pid_t trainer = AwaitTrainer();
  orders_.mutable_attempt()->set_kill(true);
  fleet_.Order(orders_);
  EXPECT_TRUE(Await([&] { return !ProcessAlive(trainer); }));
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_CANCELLED);
}

TEST_F(DtworkerTest, AStorageThatHangsHoldsUpNeitherTheLeaseNorTheEnd) {
  StartWorker();
  OrderWithHangingStorage(5);
  ASSERT_TRUE(AwaitEnd()) << "it reports and trains meanwhile";
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
  worker_.Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(DtworkerTest, AMissingCheckpointIsReportedOnceTheStorageAnswers) {
  StartWorker();
  const std::string marker = OrderWithHangingStorage(100000, "hang_at=20");
  ASSERT_TRUE(AwaitSteps(19));
  std::ofstream(marker) << testing::Slurp(marker + ".kept");
  EXPECT_TRUE(Await([&] {
    const auto items = fleet_.Items();
    return std::any_of(items.begin(), items.end(), [](const v1::Item& item) {
      return item.checkpoint_removed().path() == "1/1/a0/step-1";
    });
  }));
}

TEST_F(DtworkerTest, TerminateSavesReportsAndLeaves) {
  StartWorker();
  Order(100000);
  ASSERT_TRUE(AwaitSteps(10));
  const pid_t trainer = AwaitTrainer();
  worker_.Signal(SIGTERM);
  const auto status = worker_.AwaitExit();
  ASSERT_TRUE(status);
  EXPECT_TRUE(WIFEXITED(*status) && WEXITSTATUS(*status) == 0) << *status;
  EXPECT_FALSE(ProcessAlive(trainer));
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_PREEMPTED);
  bool saved = false;
  for (const v1::Item& item : fleet_.Items()) saved = saved || item.has_checkpoint();
  EXPECT_TRUE(saved);
  EXPECT_TRUE(fleet_.Latest().draining());
  EXPECT_EQ(fleet_.Latest().trainer(), v1::WorkerReport::TRAINER_NONE);
}

// Trials of programs; the fake trainer is their runner, in a file of its own.
class ProgramWorkerTest : public DtworkerTest {
 protected:
  ProgramWorkerTest() {
    PutRunner();
    StartWorker({"--programs", "allow", "--program-runner", folder_ / "runner"});
  }
  // Puts the runner's file there, as an upgrade does.
  void PutRunner() {
    std::filesystem::copy_file(FAKE_TRAINER, folder_ / "new");
    std::filesystem::rename(folder_ / "new", folder_ / "runner");
  }
  // Runs a trial of a program to its end, and returns the runner, which then rests.
  pid_t RunTrial(uint8_t token) {
    orders_ = MakeOrders(5, "", token);
    orders_.mutable_attempt()->mutable_spec()->add_command("true");
    fleet_.Order(orders_);
    EXPECT_TRUE(Await([&] {
      const auto items = fleet_.Items();
      return !items.empty() && items.back().has_ended() &&
             items.back().attempt_token() == orders_.attempt().attempt_token();
    }));
    const auto children = ChildrenOf(worker_.pid());
    return children.size() == 1 ? children[0] : -1;
  }
  // Ends the worker while its runner rests.
  void EndWorkerBy(int signal) {
    RunTrial(1);
    const pid_t runner = RunTrial(2);
    ASSERT_GT(runner, 0);
    worker_.Signal(signal);
    ASSERT_TRUE(worker_.AwaitExit());
    EXPECT_TRUE(Await([&] { return !ProcessAlive(runner); }));
  }
};

TEST_F(ProgramWorkerTest, ARunnerServesTrialsUntilItsFileIsReplaced) {
  RunTrial(1);
  const pid_t runner = RunTrial(2);
  EXPECT_EQ(RunTrial(3), runner);
  PutRunner();
  EXPECT_TRUE(Await([&] { return !ProcessAlive(runner); })) << "it rests on";
  RunTrial(4);
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
}

TEST_F(ProgramWorkerTest, ARestingRunnerThatIsKilledCostsNoTrial) {
  RunTrial(1);
  const pid_t runner = RunTrial(2);
  ASSERT_GT(runner, 0);
  kill(runner, SIGKILL);
  RunTrial(3);
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
}

TEST_F(ProgramWorkerTest, ARestingRunnerEndsWithAWorkerThatIsAskedToStop) { EndWorkerBy(SIGTERM); }

TEST_F(ProgramWorkerTest, ARestingRunnerEndsWithAWorkerThatIsKilled) { EndWorkerBy(SIGKILL); }

TEST_F(DtworkerTest, EndsAfterItsIdleTimeoutAndNotWhileItTrains) {
  const auto timeout = std::chrono::seconds(5);  // longer than a loaded machine needs to order
  StartWorker({"--idle-timeout", "5s"});
  Order(100000, "hang_at=20");
  ASSERT_TRUE(AwaitSteps(19));
  EXPECT_EQ(worker_.AwaitExit(timeout + std::chrono::seconds(1)), std::nullopt) << "it has a trial";
  orders_.mutable_attempt()->set_kill(true);
  fleet_.Order(orders_);
  ASSERT_TRUE(AwaitEnd());
  fleet_.Order({});
  EXPECT_EQ(ExitCode(), 0);
  EXPECT_TRUE(fleet_.Latest().draining()) << "no orders are given to it meanwhile";
}

TEST_F(DtworkerTest, AMissingTrainerIsNamedInTheEnd) {
  StartWorker({"--trainer", "/nowhere/dttrain"});
  Order(10);
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_WORKER_FAULT);
  EXPECT_NE(fleet_.EndMessage().find("/nowhere/dttrain"), std::string::npos);
}

TEST_F(DtworkerTest, ATrainerThatDiesEarlyIsReportedWithItsLastLine) {
  StartWorker({}, {{"FAKE_DIE_EARLY", "1"}});
  Order(10);
  ASSERT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_WORKER_FAULT);
  EXPECT_NE(fleet_.EndMessage().find("dying early"), std::string::npos);
}

TEST_F(DtworkerTest, OutputOfTheTrainerArrivesAsLog) {
  StartWorker();
  Order(10, "spew=20");
  ASSERT_TRUE(AwaitEnd());
  std::string text;
  for (const v1::Item& item : fleet_.Items()) text += item.log().text();
  EXPECT_NE(text.find("line 0\n"), std::string::npos);
  EXPECT_NE(text.find("line 19\n"), std::string::npos);
}

TEST_F(DtworkerTest, ARefusedNameIsTriedAgainUntilItIsFree) {
  fleet_.Refuse({grpc::StatusCode::ALREADY_EXISTS, "worker w is held by another"});
  StartWorker();
  ASSERT_TRUE(Await([&] { return fleet_.Hellos().size() >= 2; }));
  fleet_.Refuse(grpc::Status::OK);
  Order(5);
  EXPECT_TRUE(AwaitEnd());
}

TEST_F(DtworkerTest, AWorkerWhoseCertificateIsRefusedStaysAndSaysSoOnce) {
  testing::NotifySocket manager(folder_ / "notify");
  fleet_.Refuse({grpc::StatusCode::PERMISSION_DENIED, "the certificate is for another"});
  StartWorker({}, {{"NOTIFY_SOCKET", manager.path()}});
  const std::string status = "STATUS=refused by the coordinator";
  EXPECT_EQ(manager.ReceiveUntil(status).substr(0, status.size()), status);
  EXPECT_EQ(fleet_.Hellos().size(), 1u);
  worker_.Signal(SIGTERM);
  EXPECT_EQ(ExitCode(), 0);
}

TEST_F(DtworkerTest, TheServiceManagerIsNotifiedOfReadinessLifeAndTheEnd) {
  testing::NotifySocket manager(folder_ / "notify");
  StartWorker({}, {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "400000"}});
  EXPECT_EQ(manager.ReceiveUntil("READY=1"), "READY=1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.ReceiveUntil("WATCHDOG=1"), "WATCHDOG=1");
  worker_.Signal(SIGTERM);
  EXPECT_EQ(manager.ReceiveUntil("STOPPING=1"), "STOPPING=1");
}

TEST_F(DtworkerTest, TheAliveFileIsTouchedUnlessTheWorkerStandsStill) {
  const std::string alive = folder_ / "alive";
  StartWorker({"--alive-file", alive});
  ASSERT_TRUE(Await([&] { return !fleet_.Hellos().empty(); }));
  EXPECT_TRUE(AwaitTouch(alive));
  fleet_.Stop();
  EXPECT_TRUE(AwaitTouch(alive));
  ASSERT_TRUE(worker_.Pause());
  EXPECT_FALSE(AwaitTouch(alive, absl::ToChronoMilliseconds(1.5 * limits::kAlivePeriod)));
  worker_.Signal(SIGCONT);
  EXPECT_TRUE(AwaitTouch(alive));
  EXPECT_TRUE(worker_.Running());
}

TEST_F(DtworkerTest, TheAliveFileIsTouchedWhileItWaitsToJoin) {
  fleet_.Stop();
  const std::string alive = folder_ / "alive";
  StartWorker({"--alive-file", alive, "--token-file", folder_ / "token", "--join-token-file",
               folder_.Write("invitation", FreshToken() + "\n")});
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(alive); }));
  EXPECT_TRUE(AwaitTouch(alive));
  EXPECT_TRUE(worker_.Running());
}

TEST_F(DtworkerTest, AFileThatCannotBeTouchedEndsNoWorker) {
  StartWorker({"--alive-file", folder_ / "nowhere/alive"});
  Order(10);
  EXPECT_TRUE(AwaitEnd());
  EXPECT_EQ(fleet_.EndCause(), v1::CAUSE_FINISHED);
}

TEST_F(DtworkerTest, TheCoresOfAHostAreDealtOutAmongItsSlots) {
  StartWorker({"--slot", "cpu:0", "--slots", "1", "--threads", "1"});
  const pid_t trainer = AwaitTrainer();
  const std::string cores = "--cores " + std::to_string(ReadHostFacts().cores.front()) + " ";
  std::string text;
  // A child has its parent's command line until it has become the trainer.
  EXPECT_TRUE(Await([&] {
    text = testing::ReadOfProcess(trainer, "cmdline");
    std::replace(text.begin(), text.end(), '\0', ' ');
    return text.find(cores) != std::string::npos && text.find("--threads 1 ") != std::string::npos;
  })) << text;
}

TEST_F(DtworkerTest, ImpossibleFlagsAreRefused) {
  const std::vector<std::vector<std::string>> wrong = {{"--slot", "gpu:0"},
                                                       {"--coordinator", "train.example:7600"},
                                                       {"--coordinator", "127.0.0.1:70000"},
                                                       {"--coordinator", "foo"},
                                                       {"--memory-limit", "2X"},
                                                       {"--disconnect-grace", "soon"},
                                                       {"--idle-timeout", "0s"},
                                                       {"--idle-timeout", "1m", "--all"},
                                                       {"--label", "novalue"},
                                                       {"--label", "rack=\xff"},
                                                       {"--name", "worker\xff"},
                                                       {"--data-address", "10.0.0.7\xff"},
                                                       {"--storage", "checkpoints\xff"},
                                                       {"--slot", "cpu:2", "--slots", "2"},
                                                       {"--threads", "0"},
                                                       {"--nonsense", "1"}};
  for (const auto& flags : wrong) {
    StartWorker(flags);
    EXPECT_EQ(ExitCode(), 2) << flags[0] << " " << flags[1];
  }
  const std::string log = testing::Slurp(folder_ / "worker.log");
  EXPECT_NE(log.find("write host:port or unix:/path"), std::string::npos);
  EXPECT_NE(log.find(R"(--name is 'worker\\xff', which is not UTF-8)"), std::string::npos) << log;
}

TEST_F(DtworkerTest, HelpThatCannotBePrintedIsAnError) {
  worker_ = ChildProcess({"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", DTWORKER, "--help"},
                         folder_ / "worker.log");
  EXPECT_EQ(ExitCode(), 1);
  EXPECT_NE(testing::Slurp(folder_ / "worker.log").find("cannot write to 'standard output'"),
            std::string::npos);
}

TEST_F(DtworkerTest, MissingHardwareIsNoUsageError) {
  for (const auto& flags : std::vector<std::vector<std::string>>{
           {"--slot", "cuda:99"}, {"--storage", "/dev/null"}, {"--run-dir", "/dev/null"}}) {
    StartWorker(flags);
    EXPECT_EQ(ExitCode(), 1) << flags[0];
  }
}

TEST_F(DtworkerTest, LogsLinesWithAPriorityForJournaldAndJsonIntoAFile) {
  StartWorker({"--slot", "gpu:0"});
  EXPECT_EQ(ExitCode(), 2);
  const std::string json = testing::Slurp(folder_ / "worker.log");
  EXPECT_EQ(json.rfind("{\"time\":", 0), 0u) << json;
  EXPECT_NE(json.find("\"level\":\"error\""), std::string::npos) << json;
  StartWorker({"--slot", "gpu:0"}, {{"JOURNAL_STREAM", "1:2"}});
  EXPECT_EQ(ExitCode(), 2);
  EXPECT_EQ(testing::Slurp(folder_ / "worker.log").substr(json.size()).rfind("<3>", 0), 0u);
}

TEST_F(DtworkerTest, ForeignTextCannotForgeALineOfTheLog) {
  StartWorker({"--slot", "gpu:0\n<2>all is lost\x1b[2J"}, {{"JOURNAL_STREAM", "1:2"}});
  EXPECT_EQ(ExitCode(), 2);
  const std::string log = testing::Slurp(folder_ / "worker.log");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  EXPECT_EQ(log.find('\x1b'), std::string::npos) << log;
}

}  // namespace
}  // namespace dt
