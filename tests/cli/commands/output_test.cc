// output_test.cc: every command that prints fails if its output cannot be written (F2).
#include "cli/view/output.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "cli/commands/command_tree.h"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class OutputTest : public CommandTest {
 protected:
  void SetUp() override {
    environment_["XDG_CONFIG_HOME"] = folder_ / "config";
    AddExperiment(12, 2);
    control_.Edit([this](FakeControl::World& world) {
      FinishAll(world, 12);
      v1::ExplainTrialResponse& found = world.experiments[12].explanations[1];
      *found.mutable_trial() = Trial(world, 12, 1);
      v1::MetricRow& row = world.experiments[12].rows.emplace_back();
      row.set_trial(1);
      row.set_attempt(1);
      row.mutable_row()->set_step(1);
      row.mutable_row()->set_loss(3);
      v1::LogLineChunk& chunk = world.experiments[12].logs.emplace_back();
      chunk.set_attempt(1);
      chunk.mutable_log()->set_text("a line\n");
    });
  }

  // Runs the command with stdout at `fd`.
  Ran RunInto(int fd, const std::vector<std::string>& words) {
    OutputBuffer buffer(fd);
    std::ostream out(&buffer);
    out_ = &out;
    out_error_ = [&buffer] { return buffer.error(); };
    Ran ran = Run(words);
    out_ = nullptr;
    return ran;
  }

  testing::TempFolder folder_;
};

// Returns the command that these words run: "dtctl get trials".
std::string CommandOf(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (const std::string& word : words) {
    for (const CLI::App* sub : app->get_subcommands({})) {
      if (!sub->check_name(word)) continue;
      app = sub;
      break;
    }
  }
  return CommandLine(app);
}

void AddCommands(const CLI::App* app, std::set<std::string>& commands) {
  const std::vector<const CLI::App*> subs = app->get_subcommands({});
  for (const CLI::App* sub : subs) AddCommands(sub, commands);
  if (subs.empty()) commands.insert(CommandLine(app));
}

TEST_F(OutputTest, AFullDiskIsAnErrorOfEveryCommandThatPrints) {
  const std::string file = folder_.Write("grid.yaml",
                                         "version: 1\n"
                                         "name: x\n"
                                         "data: {train: a, val: b}\n"
                                         "train: {max_steps: 3}\n");
  const std::string other =
      folder_.Write("wandb.yaml", "method: grid\nparameters: {a: {values: [1, 2]}}\n");
  folder_.Write("text", std::string(5000, 'x') + "\n");
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"--version"},
      {"get", "trials", "--help"},
      {"submit", file},
      {"submit", file, "-n"},
      {"validate", file},
      {"resolve", file},
      {"plan", file, "-o", "json"},
      {"sweep", "./go {lr}", "--param", "lr=1,2", "--print"},
      {"import", other},
      {"follow", "12"},
      {"top"},
      {"best", "12"},
      {"get", "experiments"},
      {"get", "configurations", "12"},
      {"get", "workers", "-o", "json"},
      {"get", "checkpoints", "12", "-o", "json"},
      {"get", "trials", "12", "-o", "json"},
      {"get", "trials", "12", "-o", "csv"},
      {"get", "trials", "12", "-o", "name"},
      {"get", "trials", "12", "--watch"},
      {"describe", "12"},
      {"describe", "12/1", "-o", "yaml"},
      {"explain", "12/1"},
      {"logs", "12/1"},
      {"metrics", "12"},
      {"report", "12"},
      {"plot", "12"},
      {"cancel", "12"},
      {"retry", "12", "--failed"},
      {"pause", "12"},
      {"resume", "12"},
      {"set", "12", "max_concurrent=2"},
      {"extend", "12", "--max-trials", "9"},
      {"rename", "12", "other"},
      {"note", "12", "a note"},
      {"label", "12", "team=vision"},
      {"archive", "12"},
      {"unarchive", "12"},
      {"worker", "drain", "spare"},
      {"worker", "undrain", "spare"},
      {"context", "list", "-o", "json"},
      {"ca", "init", "--dir", folder_ / "tls"},
      {"ca", "issue", "desk", "--role", "submitter", "--dir", folder_ / "tls"},
      {"data", "tokenize", "--output", folder_ / "shards", folder_ / "text"},
      {"data", "verify", folder_ / "shards"},
      {"version"},
      {"completion", "bash"},
      {"delete", "12", "--yes"},
  };
  const std::unique_ptr<CommandTree> tree = MakeCommandTree();
  std::set<std::string> untried;
  AddCommands(&tree->app(), untried);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  for (const auto& words : commands) {
    untried.erase(CommandOf(tree->app(), words));
    const Ran ran = RunInto(full, words);
    EXPECT_EQ(ran.code, 1) << words.front() << " " << words.back();
    EXPECT_TRUE(Has(ran.err, "stdout cannot be written: No space left on device")) << ran.err;
  }
  close(full);
  // These print nothing to stdout, or print like the others but only after work for which this
  // coordinator is no substitute.
  const std::set<std::string> elsewhere = {
      "dtctl context add",  "dtctl context remove", "dtctl context use",
      "dtctl wait",         "dtctl bench network",  "dtctl checkpoint export",
      "dtctl code",         "dtctl data fetch",     "dtctl down",
      "dtctl get audit",    "dtctl importance",     "dtctl quota list",
      "dtctl quota remove", "dtctl quota set",      "dtctl token create",
      "dtctl token list",   "dtctl token revoke",   "dtctl up"};
  EXPECT_EQ(untried, elsewhere) << "a new command belongs among those that are tried";
}

TEST_F(OutputTest, AReaderThatClosesThePipeCausesNoError) {
  signal(SIGPIPE, SIG_IGN);  // as under a parent that ignores it; otherwise the signal ends dtctl
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const Ran ran = RunInto(ends[1], {"metrics", "12"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "");
  close(ends[1]);
  signal(SIGPIPE, SIG_DFL);
}

TEST_F(OutputTest, OutputLargerThanABufferArrivesCompletely) {
  const std::string path = folder_ / "out";
  const int fd = open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  {
    OutputBuffer buffer(fd);
    std::ostream out(&buffer);
    for (int i = 0; i < 100000; ++i) out << "line\n";
    EXPECT_TRUE(out.flush().good());
  }
  EXPECT_EQ(lseek(fd, 0, SEEK_END), 500000);
  close(fd);
}

}  // namespace
}  // namespace dt::cli
