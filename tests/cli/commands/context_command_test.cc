// context_command_test.cc: dtctl context, and commands that use the coordinator it names.
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class ContextCommandTest : public CommandTest {
 protected:
  void SetUp() override { environment_["XDG_CONFIG_HOME"] = folder_.path(); }
  testing::TempFolder folder_;
};

TEST_F(ContextCommandTest, TheFirstContextIsTheCurrentOneAndCommandsUseIt) {
  AddExperiment(12, 1);
  EXPECT_EQ(RunAsWritten({"context", "list"}).code, 0) << "none yet";
  EXPECT_EQ(RunAsWritten({"context", "add", "fake", "--address", control_.address()}).code, 0);
  EXPECT_EQ(RunAsWritten({"get", "trials", "-o", "name"}).out, "12/1\n");
  EXPECT_EQ(RunAsWritten({"context", "add", "none", "--address", "unix:/nonexistent/x"}).code, 0);
  EXPECT_EQ(RunAsWritten({"get", "trials", "-o", "name"}).out, "12/1\n") << "still the first";
  EXPECT_EQ(RunAsWritten({"context", "use", "none"}).code, 0);
  const Ran away = RunAsWritten({"get", "trials"});
  EXPECT_EQ(away.code, 3);
  EXPECT_TRUE(Has(away.err, "context 'none'")) << away.err;
  EXPECT_EQ(RunAsWritten({"--context", "fake", "get", "trials", "-o", "name"}).out, "12/1\n");
  EXPECT_EQ(RunAsWritten({"context", "list", "-o", "name"}).out, "fake\nnone\n");
  EXPECT_TRUE(Has(RunAsWritten({"context", "list"}).out, "none     current  unix:/nonexistent/x"));
  EXPECT_EQ(RunAsWritten({"context", "remove", "none"}).code, 0);
  EXPECT_EQ(RunAsWritten({"context", "use", "none"}).code, 4);
}

TEST_F(ContextCommandTest, AnInvalidContextIsRefusedWhenItIsAdded) {
  EXPECT_EQ(RunAsWritten({"context", "add", "lab"}).code, 2) << "no address";
  EXPECT_EQ(RunAsWritten({"context", "add", "../x", "--address", "127.0.0.1:1"}).code, 2);
  EXPECT_EQ(RunAsWritten({"context", "add", "lab", "--address", "far:1"}).code, 2) << "no TLS";
  EXPECT_EQ(RunAsWritten({"context", "list", "-o", "name"}).out, "");
}

TEST_F(ContextCommandTest, AContextThatIsNotThereHindersNoCommandThatNeedsNoCoordinator) {
  environment_["DTCTL_CONTEXT"] = "gone";
  EXPECT_EQ(RunAsWritten({"version", "--client"}).code, 0);
  const Ran ran = RunAsWritten({"get", "trials"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_TRUE(Has(ran.err, "no context 'gone'")) << ran.err;
}

}  // namespace
}  // namespace dt::cli
