// local_command_test.cc: dtctl up and down. A script stands in for dtcoord, with a coordinator of
// the test behind it.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "cli/remote/contexts.h"
#include "nlohmann/json.hpp"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class LocalCommandTest : public CommandTest {
 protected:
  void SetUp() override {
    environment_["XDG_CONFIG_HOME"] = folder_ / "config";
    environment_["XDG_STATE_HOME"] = folder_ / "state";
    programs_ = folder_ / "bin";
    Script("dtcoord", absl::StrCat("while [ \"$1\" != --addresses-file ]; do shift; done\n"
                                   "echo '{\"grpc\": \"",
                                   control_.address(),
                                   "\", \"http\": \"127.0.0.1:18\"}' >$2.new\nmv $2.new $2\n"));
    Script("dtworker", "");
    control_.Edit([](FakeControl::World& world) {
      for (const char* name : {"local/cpu:0", "local/cpu:1"}) {
        v1::WorkerSummary& worker = world.workers.emplace_back();
        worker.set_worker(name);
        worker.set_state("idle");
      }
    });
  }
  void TearDown() override { EXPECT_EQ(RunAsWritten({"down", "--purge", "--yes"}).code, 0); }
  void Script(const std::string& name, const std::string& text) {
    std::filesystem::permissions(
        folder_.Write("bin/" + name, "#!/bin/sh\n" + text + "exec sleep 300\n"),
        std::filesystem::perms::owner_all);
  }

  testing::TempFolder folder_;
};

TEST_F(LocalCommandTest, UpMakesAContextThatCommandsUseUntilDown) {
  AddExperiment(12, 1);
  const Ran up = RunAsWritten({"up", "--slots", "2"});
  ASSERT_EQ(up.code, 0) << up.err;
  EXPECT_TRUE(Has(up.out, "local is up: a coordinator and 2 CPU slots\n")) << up.out;
  EXPECT_TRUE(Has(up.out, absl::StrCat("  coordinator  ", control_.address(), "\n"))) << up.out;
  EXPECT_TRUE(Has(up.err, "'dtctl submit FILE --follow'")) << up.err;
  EXPECT_EQ(RunAsWritten({"get", "trials", "-o", "name"}).out, "12/1\n");
  EXPECT_TRUE(Has(RunAsWritten({"up"}).out, "local was up already: 2 CPU slots"));
  EXPECT_EQ(RunAsWritten({"up", "--slots", "3"}).code, 6);
  const Ran down = RunAsWritten({"down"});
  EXPECT_EQ(down.code, 0) << down.err;
  EXPECT_TRUE(Has(down.err, "3 programs ended")) << down.err;
  EXPECT_EQ(RunAsWritten({"context", "list", "-o", "name"}).out, "");
}

TEST_F(LocalCommandTest, AWorkerThatIsHeldBackIsConnectedAndUpSaysHowToUndoIt) {
  control_.Edit([](FakeControl::World& world) {
    world.workers[0].set_state("drained");
    world.workers[0].set_mark("drained by ann: new disk");
    world.workers[1].set_state("quarantined");
    world.workers[1].set_mark("quarantined: 3 trainers crashed here");
  });
  const Ran up = RunAsWritten({"up", "--slots", "2"});
  EXPECT_EQ(up.code, 0) << up.err;
  EXPECT_TRUE(Has(up.err,
                  "local/cpu:0 takes no trial, it is drained by ann: new disk; 'dtctl "
                  "worker undrain local/cpu:0' lets it"))
      << up.err;
  EXPECT_TRUE(Has(up.err, "local/cpu:1 takes no trial, it is quarantined: 3 trainers")) << up.err;
}

TEST_F(LocalCommandTest, ASecondUpPrintsTheAddressOfAPageThatHadToMove) {
  ASSERT_EQ(RunAsWritten({"up", "--slots", "2"}).code, 0);
  ASSERT_EQ(RunAsWritten({"down"}).code, 0);
  folder_.Write(
      "state/dtrain/local/last-addresses.json",
      absl::StrCat("{\"grpc\": \"", control_.address(), "\", \"http\": \"127.0.0.1:19\"}"));
  const Ran up = RunAsWritten({"up"});
  EXPECT_TRUE(Has(up.err,
                  "the page is at http://127.0.0.1:18/ now: another program has "
                  "http://127.0.0.1:19/, where it was before"))
      << up.err;
}

TEST_F(LocalCommandTest, AFileWhoseDataAreNotThereIsValidAndItsDataAreNamed) {
  ASSERT_EQ(RunAsWritten({"up", "--slots", "2"}).code, 0);
  const std::string file = folder_.Write("one.yaml",
                                         "version: 1\nname: one\nparameters: {data.train: "
                                         "[\"a/t*.bin\", \"b/t*.bin\"]}\n"
                                         "data: {val: \"a/v*.bin\"}\n"
                                         "train: {seq_len: 64, max_steps: 10}\n");
  folder_.Write("state/dtrain/local/data/a/t1.bin", "");
  folder_.Write("state/dtrain/local/data/a/v1.bin", "");
  const Ran missing = RunAsWritten({"validate", file});
  EXPECT_EQ(missing.code, 0) << missing.err;
  EXPECT_TRUE(Has(missing.err, "data.train 'b/t*.bin' matches no file")) << missing.err;
  folder_.Write("state/dtrain/local/data/b/t1.bin", "");
  EXPECT_FALSE(Has(RunAsWritten({"validate", file}).err, "matches no file"));
}

TEST_F(LocalCommandTest, ACheckpointThatIsNoLongerInItsFolderIsReportedAsGone) {
  AddExperiment(12, 1);
  control_.Edit([](FakeControl::World& world) {
    for (const char* path : {"12/1/a1/step-100", "12/1/a1/step-200"}) {
      v1::CheckpointSummary& one = world.experiments[12].checkpoints.emplace_back();
      one.set_experiment(12);
      one.set_trial(1);
      one.set_attempt(1);
      one.mutable_checkpoint()->set_path(path);
      one.add_seen_by("local/cpu:0");
    }
  });
  ASSERT_EQ(RunAsWritten({"up", "--slots", "2"}).code, 0);
  folder_.Write("state/dtrain/local/storage/12/1/a1/step-200/model", "");
  const std::string table = RunAsWritten({"get", "checkpoints"}).out;
  EXPECT_TRUE(Has(table, "nobody: it is gone")) << table;
  EXPECT_TRUE(Has(table, "local/cpu:0")) << table;
  EXPECT_EQ(RunAsWritten({"get", "checkpoints", "-o", "name"}).out, "12/1/a1/step-200\n");
}

TEST_F(LocalCommandTest, AnotherCurrentContextDoesNotChange) {
  ASSERT_EQ(RunAsWritten({"context", "add", "lab", "--address", "127.0.0.1:9"}).code, 0);
  const Ran up = RunAsWritten({"up", "--slots", "2"});
  EXPECT_TRUE(Has(up.err, "'dtctl --context local submit")) << up.err;
  EXPECT_TRUE(Has(RunAsWritten({"context", "list"}).out, "lab      current"));
}

TEST_F(LocalCommandTest, UpDoesNotTakeTheNameOfAnotherCoordinator) {
  const TlsFiles tls{.ca = "ca.pem", .cert = "cert.pem", .key = "key.pem"};
  folder_.Write("config/dtrain/contexts.json",
                ContextsText({.list = {{"lab", "10.1.2.3:7600", tls}}}));
  const Ran up = RunAsWritten({"up", "--name", "lab"});
  EXPECT_EQ(up.code, 6);
  EXPECT_TRUE(Has(up.err, "'lab' is another coordinator, 10.1.2.3:7600")) << up.err;
  EXPECT_TRUE(Has(RunAsWritten({"context", "list"}).out, "10.1.2.3:7600"));
}

TEST_F(LocalCommandTest, DownWithoutUpAndAPurgeThatNobodyConfirms) {
  EXPECT_TRUE(Has(RunAsWritten({"down"}).err, "there is nothing to end"));
  EXPECT_EQ(RunAsWritten({"up"}).code, 0);
  EXPECT_EQ(RunAsWritten({"down", "--purge"}).code, 6);
  EXPECT_EQ(RunAsWritten({"down", "--name", "../x"}).code, 2);
}

}  // namespace
}  // namespace dt::cli
