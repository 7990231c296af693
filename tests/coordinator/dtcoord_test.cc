// dtcoord_test.cc: the program itself: start, refusal, stop, kill and return.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/net/grpc_settings.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "coordinator/store/sqlite_store.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "spec/spec.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using testing::Await;
using testing::ChildProcess;
using testing::NotifySocket;
namespace v1 = ::dtrain::v1;

std::unique_ptr<grpc::ClientContext> Deadline() {
  auto context = std::make_unique<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  return context;
}

class DtcoordTest : public ::testing::Test {
 protected:
  ChildProcess Start(const std::string& name, const std::map<std::string, std::string>& env = {}) {
    return ChildProcess({DTCOORD, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir",
                         folder_ / "state", "--addresses-file", folder_ / name},
                        folder_ / (name + ".log"), env);
  }
  // Waits for the addresses file and dials.
  std::unique_ptr<v1::Control::Stub> Dial(const std::string& name) {
    std::string address;
    EXPECT_TRUE(Await([&] {
      const auto json = nlohmann::json::parse(testing::Slurp(folder_ / name), nullptr, false);
      if (json.is_discarded()) return false;
      address = json.value("grpc", "");
      return true;
    })) << testing::Slurp(folder_ / (name + ".log"));
    return v1::Control::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), ClientChannelArguments()));
  }
  void ExpectCleanJournal() {
    const auto store = SqliteStore::Open(folder_ / "state", "test");
    ASSERT_TRUE(store.ok()) << store.status();
    EXPECT_FALSE((*store)->stopped_uncleanly());
    EXPECT_TRUE((*store)->Close().ok());
  }
  // The exit code, or -1: ended by a signal, or not at all.
  static int ExitCode(ChildProcess& child) {
    const std::optional<int> status = child.AwaitExit();
    return status.has_value() && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  }
  static v1::GetStatusResponse Status(v1::Control::Stub& stub) {
    v1::GetStatusResponse response;
    const grpc::Status status = stub.GetStatus(Deadline().get(), {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  // `code`: the digest of what it brings; empty: nothing.
  static uint64_t Submit(v1::Control::Stub& stub, const std::string& request_id,
                         const std::string& code = "") {
    v1::SubmitRequest request;
    if (!code.empty()) request.mutable_spec()->mutable_code()->set_digest(code);
    request.set_request_id(request_id);
    v1::ExperimentSpec& spec = *request.mutable_spec();
    spec.set_version(1);
    spec.set_name("one");
    *spec.mutable_base() = spec::DefaultSpec();
    spec.mutable_base()->mutable_data()->set_train("*_train_*.bin");
    spec.mutable_base()->mutable_data()->set_val("*_val_*.bin");
    spec.mutable_base()->mutable_resources()->set_device("cpu");
    spec.mutable_base()->mutable_train()->set_max_steps(1);
    spec.mutable_search()->set_method("grid");
    spec.mutable_search()->set_metric("val_loss");
    spec.mutable_search()->set_goal("minimize");
    v1::SubmitResponse response;
    const grpc::Status status = stub.Submit(Deadline().get(), request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.experiment();
  }

  testing::TempFolder folder_;
};

TEST_F(DtcoordTest, ATermEndsItCleanlyAndTheNextStartKnowsTheExperiments) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  const v1::GetStatusResponse before = Status(*stub);
  EXPECT_FALSE(before.http_address().empty());
  EXPECT_EQ(Submit(*stub, "a"), 1u);
  first.Signal(SIGTERM);
  EXPECT_EQ(ExitCode(first), 0) << testing::Slurp(folder_ / "first.log");
  ChildProcess second = Start("second");
  stub = Dial("second");
  EXPECT_EQ(Status(*stub).journal_id(), before.journal_id());
  EXPECT_EQ(Status(*stub).experiments(), 1u);
  EXPECT_EQ(Submit(*stub, "a"), 1u);  // the same request: the same experiment
}

TEST_F(DtcoordTest, WhatWasAcknowledgedSurvivesAKill) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  for (int i = 0; i < 20; ++i) Submit(*stub, "request " + std::to_string(i));
  first.KillAndReap();
  ChildProcess second = Start("second");
  stub = Dial("second");
  EXPECT_EQ(Status(*stub).experiments(), 20u);
}

TEST_F(DtcoordTest, ASecondOneOnTheSameStateIsRefused) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  ChildProcess second = Start("second");
  EXPECT_EQ(ExitCode(second), 1);
  Status(*stub);
}

TEST_F(DtcoordTest, SystemdIsToldWhenItServesAndWhenItStops) {
  NotifySocket manager(folder_ / "notify");
  ChildProcess child = Start("first", {{"NOTIFY_SOCKET", manager.path()}});
  EXPECT_EQ(manager.Receive(), "READY=1");
  Status(*Dial("first"));
  child.Signal(SIGTERM);
  EXPECT_EQ(manager.Receive(), "STOPPING=1");
  EXPECT_EQ(ExitCode(child), 0);
}

TEST_F(DtcoordTest, TheWatchdogIsFedWhileTheLoopTurns) {
  NotifySocket manager(folder_ / "notify");
  ChildProcess child =
      Start("first", {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "400000"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(manager.ReceiveUntil("WATCHDOG=1"), "WATCHDOG=1");
}

TEST_F(DtcoordTest, AWrongFlagIsAUsageError) {
  ChildProcess child({DTCOORD, "--listne", "x"}, folder_ / "log");
  EXPECT_EQ(ExitCode(child), 2);
  for (const char* address : {"foo", "127.0.0.1:99999"}) {
    for (const char* flag : {"--listen", "--http"}) {
      ChildProcess wrong({DTCOORD, flag, address, "--state-dir", folder_ / "none"},
                         folder_ / "log");
      EXPECT_EQ(ExitCode(wrong), 2) << flag << " " << address;
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(DtcoordTest, HttpForOtherHostsNeedsAnExplicitFlag) {
  ChildProcess refused(
      {DTCOORD, "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--state-dir", folder_ / "state"},
      folder_ / "refused.log");
  EXPECT_EQ(ExitCode(refused), 2);
  EXPECT_NE(testing::Slurp(folder_ / "refused.log").find("--http-clear-text"), std::string::npos);
  ChildProcess allowed(
      {DTCOORD, "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", "--http-clear-text",
       "--state-dir", folder_ / "state", "--addresses-file", folder_ / "allowed"},
      folder_ / "allowed.log");
  EXPECT_FALSE(Status(*Dial("allowed")).http_address().empty());
}

TEST_F(DtcoordTest, AStartThatFailsLeavesTheJournalClean) {
  ChildProcess wrong(
      {DTCOORD, "--listen", "nonsense", "--http", "127.0.0.1:0", "--state-dir", folder_ / "state"},
      folder_ / "wrong.log");
  EXPECT_EQ(ExitCode(wrong), 2);
  ExpectCleanJournal();
  ChildProcess no_folder(
      {DTCOORD, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir",
       folder_ / "state", "--addresses-file", folder_ / "absent/addresses.json"},
      folder_ / "no_folder.log");
  EXPECT_EQ(ExitCode(no_folder), 1);
  ExpectCleanJournal();
}

TEST_F(DtcoordTest, ADamagedJournalIsFoundRefusedAndGoneOnWithWhenAccepted) {
  {
    ChildProcess first = Start("first");
    auto stub = Dial("first");
    for (int i = 0; i < 3; ++i) Submit(*stub, "request " + std::to_string(i));
    first.Signal(SIGTERM);
    EXPECT_EQ(ExitCode(first), 0);
  }
  const auto check = [&](const std::string& journal) {
    ChildProcess child({DTCOORD, "check", journal}, folder_ / "check.log");
    return ExitCode(child);
  };
  EXPECT_EQ(check(folder_ / "state"), 0) << testing::Slurp(folder_ / "check.log");
  EXPECT_EQ(check(folder_ / "state/journal.db"), 0);
  EXPECT_EQ(check(folder_ / "absent"), 2);
  const std::string holder = testing::Slurp(folder_ / "state/lock");
  EXPECT_EQ(check(folder_ / "state"), 0);
  EXPECT_EQ(testing::Slurp(folder_ / "state/lock"), holder) << "a check writes nothing";
  {
    auto database = Database::Open(folder_ / "state/journal.db", Access::kReadWrite);
    ASSERT_TRUE(database->Execute("DELETE FROM journal WHERE sequence = 4").ok());
  }
  EXPECT_EQ(check(folder_ / "state"), 1);
  EXPECT_NE(testing::Slurp(folder_ / "check.log").find("journal ends with record 3"),
            std::string::npos)
      << testing::Slurp(folder_ / "check.log");
  ChildProcess refused = Start("refused");
  EXPECT_EQ(ExitCode(refused), 1);
  EXPECT_NE(testing::Slurp(folder_ / "refused.log").find("--accept-loss"), std::string::npos);
  ChildProcess accepted(
      {DTCOORD, "--accept-loss", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state-dir",
       folder_ / "state", "--addresses-file", folder_ / "accepted"},
      folder_ / "accepted.log");
  EXPECT_EQ(Status(*Dial("accepted")).experiments(), 2u);
  EXPECT_NE(testing::Slurp(folder_ / "accepted.log").find("loss accepted"), std::string::npos);
  EXPECT_EQ(check(folder_ / "state"), 1);  // in use
}

TEST_F(DtcoordTest, ACheckFindsDamagedAndMissingCodeAndAStartSaysWhoseIsGone) {
  const std::string code = *pack::Pack({{"train.py", pack::Kind::kFile, "print(1)"}});
  const std::string path = folder_ / ("state/code/" + Sha256Hex(code));
  const auto check = [&] {
    ChildProcess child({DTCOORD, "check", folder_ / "state"}, folder_ / "check.log");
    return ExitCode(child);
  };
  {
    ChildProcess first = Start("first");
    auto stub = Dial("first");
    v1::PutCodeRequest put;
    put.set_digest(Sha256Hex(code));
    put.set_parts(1);
    put.set_data(code);
    v1::PutCodeResponse complete;
    ASSERT_TRUE(stub->PutCode(Deadline().get(), put, &complete).ok());
    EXPECT_TRUE(complete.complete());
    EXPECT_EQ(Submit(*stub, "with code", put.digest()), 1u);
    first.Signal(SIGTERM);
    EXPECT_EQ(ExitCode(first), 0);
  }
  EXPECT_EQ(check(), 0) << testing::Slurp(folder_ / "check.log");
  std::string damaged = code;
  damaged.back() = '2';
  folder_.Write("state/code/" + Sha256Hex(code), damaged);
  EXPECT_EQ(check(), 1);
  EXPECT_NE(testing::Slurp(folder_ / "check.log").find(Sha256Hex(code)), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_EQ(check(), 1);
  EXPECT_NE(testing::Slurp(folder_ / "check.log")
                .find("the packed code " + Sha256Hex(code) + " of experiment 1 is not in"),
            std::string::npos)
      << testing::Slurp(folder_ / "check.log");
  ChildProcess second = Start("second");
  EXPECT_EQ(Status(*Dial("second")).experiments(), 1u) << "which costs its trials, not the start";
  EXPECT_NE(testing::Slurp(folder_ / "second.log").find("the code of experiment 1 is not in"),
            std::string::npos);
}

TEST_F(DtcoordTest, WhatCannotBePrintedIsAnError) {
  ChildProcess help({"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", DTCOORD, "--help"},
                    folder_ / "help.log");
  EXPECT_EQ(ExitCode(help), 1);
  EXPECT_NE(testing::Slurp(folder_ / "help.log").find("cannot write to 'standard output'"),
            std::string::npos);
}

}  // namespace
}  // namespace dt
