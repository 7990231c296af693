// completion_test.cc: the words offered after a few words. tests/tools/completion_test.py uses the
// real shells.
#include "cli/commands/completion.h"

#include "absl/strings/str_cat.h"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class CompletionTest : public CommandTest {
 protected:
  void SetUp() override {
    environment_["XDG_CONFIG_HOME"] = folder_.path();
    environment_["DTCTL_ADDRESS"] = control_.address();
    AddExperiment(12, 3);
    AddExperiment(13, 1);
    control_.Edit([](FakeControl::World& world) {
      v1::Label& label = *world.experiments[12].found.mutable_summary()->add_labels();
      label.set_key("team");
      label.set_value("vision");
    });
  }
  // Returns the words offered for the last of `words`, separated by spaces; "+files" for names of
  // files.
  std::string Offered(const std::vector<std::string>& words, const std::string& shell = "zsh") {
    std::vector<std::string> arguments = {"__complete", shell};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Ran ran = RunAsWritten(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    std::string text;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      absl::StrAppend(&text, text.empty() ? "" : " ",
                      line == ":files" ? "+files" : line.substr(0, line.find('\t')));
    }
    return text;
  }

  testing::TempFolder folder_;
};

TEST_F(CompletionTest, CommandsAndTheirCommands) {
  EXPECT_EQ(Offered({"desc"}), "describe");
  EXPECT_EQ(Offered({"get", "tri"}), "trials");
  EXPECT_EQ(Offered({"--no-color", "-o", "json", "get", "w"}), "workers");
}

TEST_F(CompletionTest, OptionsOnlyOnceADashIsWritten) {
  EXPECT_EQ(Offered({"submit", "grid.yaml", "--max"}), "--max-concurrent");
  EXPECT_EQ(Offered({"wait", "12", "--add"}), "--address");
  EXPECT_EQ(Offered({"wait", "12", "--hel"}), "--help");
  EXPECT_EQ(Offered({"wait", "12", "--max"}), "") << "an option of another command";
  EXPECT_EQ(Offered({"wait", "12", ""}), "") << "a '-' would be inserted";
}

TEST_F(CompletionTest, ExperimentsAndTrialsOfTheCoordinator) {
  EXPECT_EQ(Offered({"cancel", ""}), "last 13 12");
  EXPECT_EQ(Offered({"follow", "1"}), "13 12");
  EXPECT_EQ(Offered({"get", "trials", "12/"}), "12/1 12/2 12/3");
  EXPECT_EQ(Offered({"explain", ""}), "last/ 13/ 12/") << "one of its trials is meant";
  EXPECT_EQ(Offered({"explain", "last/"}), "last/1");
  EXPECT_EQ(Offered({"report", "12", ""}), "last 13 12");
}

TEST_F(CompletionTest, WorkersOfTheCoordinator) {
  control_.Edit([](FakeControl::World& world) {
    for (const char* name : {"gpu07/cuda:0", "gpu07/cuda:1", "spare/cpu:0", "a b"}) {
      world.workers.emplace_back().set_worker(name);
    }
  });
  EXPECT_EQ(Offered({"worker", "drain", "gpu07"}), "gpu07/cuda:0 gpu07/cuda:1");
  EXPECT_EQ(Offered({"worker", "undrain", "s"}), "spare/cpu:0");
  EXPECT_EQ(Offered({"worker", "drain", "gpu07/cuda", ":"}, "bash"), "0 1") << "as bash cuts words";
  EXPECT_EQ(Offered({"worker", "drain", "gpu07/cuda", ":", "1"}, "bash"), "1");
  EXPECT_EQ(Offered({"worker", "drain", "spare/cpu:0", ""}), "") << "one is all that it takes";
}

TEST_F(CompletionTest, LabelsAndContexts) {
  EXPECT_EQ(Offered({"get", "experiments", "-l", "te"}), "team=vision");
  EXPECT_EQ(Offered({"get", "experiments", "-l", "team", "=", "v"}, "bash"), "vision")
      << "as bash cuts words";
  ASSERT_EQ(RunAsWritten({"context", "add", "lab", "--address", "127.0.0.1:9"}).code, 0);
  EXPECT_EQ(Offered({"context", "use", ""}), "lab");
  EXPECT_EQ(Offered({"--context", "l"}), "lab");
}

TEST_F(CompletionTest, WithoutACoordinatorThereIsStillTheNewest) {
  EXPECT_EQ(Offered({"--address", "unix:/nonexistent/x", "cancel", ""}), "last");
  EXPECT_EQ(Offered({"cancel", "--address", "far.example:1", "la"}), "last");
  EXPECT_EQ(Offered({"--address", "[", "::", "1]", ":", "1", "cancel", ""}, "bash"), "last");
  EXPECT_EQ(Offered({"--token-file", "/nonexistent", "cancel", ""}), "last");
}

TEST_F(CompletionTest, TheFewWordsThatAnOptionOrAnArgumentTakes) {
  EXPECT_EQ(Offered({"get", "trials", "-o", "y"}), "yaml");
  EXPECT_EQ(Offered({"get", "trials", "--output=js"}), "--output=json");
  EXPECT_EQ(Offered({"get", "trials", "--output", "=", "js"}, "bash"), "json");
  EXPECT_EQ(Offered({"get", "trials", "--state", "fa"}), "failed");
  EXPECT_EQ(Offered({"wait", "last", "--for", "fi"}), "first-step");
  EXPECT_EQ(Offered({"data", "tokenize", "--format", ""}), "bin npy");
  EXPECT_EQ(Offered({"plot", "last", "--metric", "val_l"}), "val_loss");
  EXPECT_EQ(Offered({"completion", "f"}), "fish");
  EXPECT_EQ(Offered({"data", "fetch", "wiki"}), "wikitext-2");
  EXPECT_EQ(Offered({"wait", "last", "--timeout", ""}), "") << "it may be anything";
  EXPECT_EQ(Offered({"top", "--int"}), "--interval");
}

TEST_F(CompletionTest, TheFormatsThatTheCommandPrints) {
  EXPECT_EQ(Offered({"metrics", "last", "-o", ""}), "csv jsonl");
  EXPECT_EQ(Offered({"data", "tokenize", "-o", ""}), "table json yaml")
      << "its --output is a folder";
  EXPECT_EQ(Offered({"follow", "last", "-o", ""}), "") << "a command that takes no -o";
}

TEST_F(CompletionTest, NamesOfFilesIfAFileIsExpected) {
  EXPECT_EQ(Offered({"submit", "gr"}), "+files");
  EXPECT_EQ(Offered({"data", "tokenize", "--output", "x", "a", "b", ""}), "+files");
  EXPECT_EQ(Offered({"report", "last", "-o", ""}), "+files");
  EXPECT_EQ(Offered({"get", "trials", "--tls-ca", ""}), "+files");
}

TEST_F(CompletionTest, ANameThatCouldForgeALineIsNotOffered) {
  control_.Edit([](FakeControl::World& world) {
    world.experiments[12].found.mutable_summary()->mutable_labels(0)->set_value("a\n:files\x1b[2J");
  });
  EXPECT_EQ(Offered({"get", "experiments", "-l", ""}), "");
}

TEST_F(CompletionTest, AnotherShellIsRefusedByName) {
  EXPECT_EQ(CompletionScript("tcsh").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dt::cli
