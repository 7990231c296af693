// local_command_test.cc: dtctl up and down, with a coordinator of the test behind the script that
// stands in for dtcoord.
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

TEST_F(LocalCommandTest, UpIsAContextThatCommandsUseUntilDown) {
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

TEST_F(LocalCommandTest, AnotherCurrentContextStaysWhatItIs) {
  ASSERT_EQ(RunAsWritten({"context", "add", "lab", "--address", "127.0.0.1:9"}).code, 0);
  const Ran up = RunAsWritten({"up", "--slots", "2"});
  EXPECT_TRUE(Has(up.err, "'dtctl --context local submit")) << up.err;
  EXPECT_TRUE(Has(RunAsWritten({"context", "list"}).out, "lab      current"));
}

TEST_F(LocalCommandTest, UpDoesNotTakeTheNameOfAnotherCoordinator) {
  const TlsFiles tls{.ca = "ca.pem", .cert = "cert.pem", .key = "key.pem"};
  folder_.Write("config/dtrain/config.yaml",
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
