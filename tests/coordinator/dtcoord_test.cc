// dtcoord_test.cc: dtcoord as a process: start, refusal, stop, kill and return.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/pack/pack.h"
#include "common/sha256.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_store.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/coordinator/dtcoord_fixture.h"
#include "tests/testing/await.h"
#include "tests/testing/child_process.h"
#include "tests/testing/notify_socket.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

using testing::Await;
using testing::ChildProcess;
using testing::NotifySocket;

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

TEST_F(DtcoordTest, AcknowledgedChangesSurviveAKill) {
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

TEST_F(DtcoordTest, SystemdIsNotifiedWhenItServesAndWhenItStops) {
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
  const std::vector<std::vector<std::string>> notices = {
      {"--notify-events", "failed"},  // no receiver is given
      {"--notify-url-file", "f", "--notify-events", "failed,done"},
      {"--notify-url-file", "f", "--notify-form", "discord"}};
  for (const std::vector<std::string>& flags : notices) {
    std::vector<std::string> command = {DTCOORD, "--state-dir", folder_ / "none"};
    command.insert(command.end(), flags.begin(), flags.end());
    ChildProcess wrong(command, folder_ / "log");
    EXPECT_EQ(ExitCode(wrong), 2) << flags.back();
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "none"));
}

TEST_F(DtcoordTest, SchedulingTimesRangeFromASecondToAnHour) {
  int tries = 0;
  for (const std::string flag : {"--protect", "--grow-after", "--resize-every"}) {
    for (const std::string wrong : {"999ms", "1h1s", "30", "soon"}) {
      const std::string name = "refused" + std::to_string(++tries);
      ChildProcess refused = Start(name, {}, {flag, wrong});
      EXPECT_EQ(ExitCode(refused), 2) << flag << " " << wrong;
      const std::string log = testing::Slurp(folder_ / (name + ".log"));
      EXPECT_NE(log.find(absl::StrCat(flag, " '", wrong,
                                      "' is not a time from 1s to 1h; write it as 30s")),
                std::string::npos)
          << log;
    }
    for (const std::string right : {"1s", "1h"}) {
      const std::string name = "taken" + std::to_string(++tries);
      ChildProcess taken = Start(name, {}, {flag, right});
      Dial(name);
      taken.Signal(SIGTERM);
      EXPECT_EQ(ExitCode(taken), 0) << flag << " " << right;
    }
  }
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

TEST_F(DtcoordTest, ADamagedJournalIsFoundAndRefusedUnlessTheLossIsAccepted) {
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
  ExpectLogged("accepted", "loss accepted");
  EXPECT_EQ(check(folder_ / "state"), 1);  // in use
}

TEST_F(DtcoordTest, ACheckFindsDamagedCodeAndAStartNamesExperimentsWithoutCode) {
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
  ExpectLogged("second", "the code of experiment 1 is not in");
}

// Backups of the state folder, made while the coordinator uses it.
class BackupTest : public DtcoordTest {
 protected:
  // Runs `dtcoord backup`. Returns its exit code, or -1 if a signal ended it. `sh`: shell commands
  // to run first.
  int Backup(const std::string& output, const std::string& sh = ":") {
    ChildProcess child({"/bin/sh", "-c", sh + "; exec \"$@\"", "sh", DTCOORD, "backup",
                        folder_ / "state", "--output", folder_ / output},
                       folder_ / "backup.log");
    return ExitCode(child);
  }
  int Check(const std::string& name) {
    ChildProcess child({DTCOORD, "check", folder_ / name}, folder_ / "check.log");
    return ExitCode(child);
  }
  bool Exists(const std::string& name) const { return std::filesystem::exists(folder_ / name); }
  std::string BackupLog() const { return testing::Slurp(folder_ / "backup.log"); }
  // Stores code and submits an experiment that names it.
  static std::string SubmitWithCode(v1::Control::Stub& stub) {
    const std::string code = *pack::Pack({{"train.py", pack::Kind::kFile, "print(1)"}});
    v1::PutCodeRequest put;
    put.set_digest(Sha256Hex(code));
    put.set_parts(1);
    put.set_data(code);
    v1::PutCodeResponse complete;
    EXPECT_TRUE(stub.PutCode(Deadline().get(), put, &complete).ok());
    Submit(stub, "with code", put.digest());
    return put.digest();
  }
};

TEST_F(BackupTest, HasEverythingAcknowledgedBeforeItAndNoDamageDuringCommits) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  const std::string digest = SubmitWithCode(*stub);
  std::atomic<uint64_t> acknowledged{1};
  std::atomic<bool> stop{false};
  std::thread submitter([&] {
    for (int i = 0; !stop.load(); ++i) {
      Submit(*stub, "request " + std::to_string(i));
      acknowledged.fetch_add(1);
    }
  });
  std::vector<uint64_t> before;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(Await([&] { return acknowledged.load() >= before.size() * 30 + 10; }));
    before.push_back(acknowledged.load());
    EXPECT_EQ(Backup("backup" + std::to_string(i)), 0) << BackupLog();
  }
  stop.store(true);
  submitter.join();
  first.KillAndReap();
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string name = "backup" + std::to_string(i);
    EXPECT_EQ(Check(name), 0) << testing::Slurp(folder_ / "check.log");
    EXPECT_FALSE(Exists(name + ".begun"));
    ASSERT_TRUE(Exists(absl::StrCat(name, "/code/", digest)));
    // Restored as the manual says: into an empty state folder, with the loss accepted.
    std::filesystem::remove_all(folder_ / "state");
    std::filesystem::copy(folder_ / name, folder_ / "state",
                          std::filesystem::copy_options::recursive);
    ChildProcess refused = Start(name + ".refused");
    EXPECT_EQ(ExitCode(refused), 1) << "the first start reports the loss of a restore";
    ChildProcess restored = Start(name + ".restored", {}, {"--accept-loss"});
    EXPECT_GE(Status(*Dial(name + ".restored")).experiments(), before[i]);
    restored.Signal(SIGTERM);
    EXPECT_EQ(ExitCode(restored), 0);
  }
}

TEST_F(BackupTest, BackingUpAStoppedCoordinatorChangesNothingInItsFolder) {
  ChildProcess first = Start("first");
  Submit(*Dial("first"), "a");
  first.Signal(SIGTERM);
  ASSERT_EQ(ExitCode(first), 0);
  const auto written = std::filesystem::last_write_time(folder_ / "state/journal.db");
  EXPECT_EQ(Backup("backup"), 0) << BackupLog();
  EXPECT_EQ(Check("backup"), 0);
  EXPECT_EQ(std::filesystem::last_write_time(folder_ / "state/journal.db"), written);
  EXPECT_FALSE(Exists("state/journal.db-shm"));
}

TEST_F(BackupTest, HasTheTokensToo) {
  ChildProcess first = Start("first", {}, {"--auth=tokens"});
  Dial("first");
  EXPECT_EQ(Backup("backup"), 0) << BackupLog();
  const std::string token = testing::Slurp(folder_ / "state/admin.token");
  first.KillAndReap();
  EXPECT_FALSE(Exists("backup/admin.token")) << "a backup has no text of a token";
  std::filesystem::rename(folder_ / "state", folder_ / "lost");
  std::filesystem::rename(folder_ / "backup", folder_ / "state");
  ChildProcess restored = Start("restored", {}, {"--auth=tokens", "--accept-loss"});
  auto stub = Dial("restored");
  auto context = Deadline();
  context->AddMetadata("authorization", "Bearer " + token.substr(0, token.find('\n')));
  v1::GetStatusResponse response;
  const grpc::Status status = stub->GetStatus(context.get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(BackupTest, ReplacesNothing) {
  ChildProcess first = Start("first");
  Submit(*Dial("first"), "a");
  folder_.Write("file", "mine");
  folder_.Write("folder/file", "mine");
  EXPECT_EQ(Backup("file"), 2) << BackupLog();
  EXPECT_EQ(Backup("folder"), 2);
  EXPECT_EQ(testing::Slurp(folder_ / "file"), "mine");
  EXPECT_EQ(testing::Slurp(folder_ / "folder/file"), "mine");
  EXPECT_FALSE(Exists("folder/journal.db"));
  EXPECT_EQ(Backup("absent/backup"), 1) << "its parent is the caller's affair";
}

TEST_F(BackupTest, ADamagedJournalIsNotBackedUp) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  Submit(*stub, "a");
  first.Signal(SIGTERM);
  ASSERT_EQ(ExitCode(first), 0);
  {
    auto database = Database::Open(folder_ / "state/journal.db", Access::kReadWrite);
    ASSERT_TRUE(database.ok() && database->Execute("DELETE FROM journal WHERE sequence = 2").ok());
  }
  EXPECT_EQ(Backup("backup"), 1);
  EXPECT_NE(BackupLog().find("No backup was made"), std::string::npos) << BackupLog();
  EXPECT_FALSE(Exists("backup"));
  EXPECT_FALSE(Exists("backup.begun"));
}

TEST_F(BackupTest, AFullDiskLeavesNoBackup) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  SubmitWithCode(*stub);
  for (int i = 0; i < 20; ++i) Submit(*stub, "request " + std::to_string(i));
  int refused = 0;
  // In blocks of 512 bytes, the shell's unit. The limit's signal is ignored, so that a write fails.
  for (int room = 0; !Exists("backup"); room += 32) {
    ASSERT_LT(room, 1 << 16);
    const int code = Backup("backup", "trap '' XFSZ; ulimit -f " + std::to_string(room));
    ASSERT_EQ(Exists("backup.begun"), false);
    ASSERT_EQ(Exists("backup"), code == 0) << BackupLog();
    refused += code == 1 ? 1 : 0;
  }
  EXPECT_GT(refused, 2);
  EXPECT_EQ(Check("backup"), 0) << testing::Slurp(folder_ / "check.log");
}

TEST_F(BackupTest, AKillLeavesNoPartialBackupAndTheNextSucceeds) {
  ChildProcess first = Start("first");
  auto stub = Dial("first");
  SubmitWithCode(*stub);
  for (int i = 0; i < 20; ++i) Submit(*stub, "request " + std::to_string(i));
  int killed = 0;
  for (const char* moment :
       {"backup.begun", "backup.begun/journal.db", "backup.begun/code", "backup.begun/code"}) {
    // Left by an earlier backup that was killed.
    std::filesystem::create_directory(folder_ / "backup.begun");
    std::ofstream(folder_ / "backup.begun/journal.db") << "half of it";
    ChildProcess child({DTCOORD, "backup", folder_ / "state", "--output", folder_ / "backup"},
                       folder_ / "backup.log");
    EXPECT_TRUE(Await([&] { return Exists(moment) || Exists("backup"); }));
    child.KillAndReap();
    ++killed;
    if (Exists("backup")) {
      EXPECT_EQ(Check("backup"), 0) << testing::Slurp(folder_ / "check.log");
      std::filesystem::remove_all(folder_ / "backup");
    }
  }
  EXPECT_EQ(killed, 4);
  EXPECT_EQ(Backup("backup"), 0) << BackupLog();
  EXPECT_EQ(Check("backup"), 0);
  EXPECT_FALSE(Exists("backup.begun"));
}

TEST_F(DtcoordTest, OutputThatCannotBePrintedIsAnError) {
  ChildProcess help({"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh", DTCOORD, "--help"},
                    folder_ / "help.log");
  EXPECT_EQ(ExitCode(help), 1);
  EXPECT_NE(testing::Slurp(folder_ / "help.log").find("cannot write to 'standard output'"),
            std::string::npos);
}

}  // namespace
}  // namespace dt
