// keeper_test.cc: programs below a keeper, declared by checkpoint.folder or written in the command.
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

// Counts the SIGTERMs that it gets until 0.3 s have passed without one: it is killed after 2 s.
constexpr char kCounter[] = R"(import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
name = sys.argv[1]
open(name + ".ready", "w").close()
signal.sigwait({signal.SIGTERM})
count = 1
while signal.sigtimedwait({signal.SIGTERM}, 0.3) is not None:
    count += 1
with open(name + ".tmp", "w") as file:
    file.write(str(count))
os.rename(name + ".tmp", name)
)";

class KeeperTest : public ProgramTest {
 protected:
  static nlohmann::json Kept(const char* pattern = "out/*.pt") {
    return {{"checkpoint", {{"folder", pattern}}}};
  }
  frames::End EndOf(const frames::Start& start) {
    frames_.clear();
    Say(start);
    return AwaitEnd();
  }
};

TEST_F(KeeperTest, AProgramGetsEachRequestToStopOnce) {
  std::ofstream(folder_ / "counter.py") << kCounter;
  int number = 0;
  for (const bool in_a_shell : {false, true}) {
    for (const bool declared : {false, true}) {
      for (const bool saves : {false, true}) {
        const std::string name = "count" + std::to_string(++number);
        std::vector<std::string> words = {"python3", folder_ / "counter.py", folder_ / name};
        if (!declared) {
          words.insert(words.begin(), {"python3", "-m", "dtrain", "keep", "out", "--"});
        }
        nlohmann::json spec = declared ? Kept() : nlohmann::json::object();
        if (in_a_shell) {
          std::string text;
          for (const std::string& word : words) text += "'" + word + "' ";
          spec["run"] = text;
        } else {
          spec["command"] = words;
        }
        frames_.clear();
        Say(StartOf(spec));
        ASSERT_TRUE(AwaitFile(name + ".ready"));
        Say(frames::Stop{kToken, saves});
        ASSERT_TRUE(AwaitFile(name)) << spec;
        EXPECT_EQ(PidIn(name), 1) << spec << (saves ? ", asked to save" : ", asked to leave");
        EXPECT_EQ(AwaitEnd().cause, "cancelled");
      }
    }
  }
}

TEST_F(KeeperTest, FilesInTheFolderAreACheckpointAndThereAgainAtAResume) {
  nlohmann::json spec = Kept();
  spec["run"] =
      R"(mkdir -p out; cat out/w.pt 2>/dev/null; echo 6"5" > out/w.pt; echo log > out/log
                   echo '{"step": 4, "loss": 1}' >&3)";
  frames::Start start = StartOf(spec);
  EXPECT_EQ(EndOf(start).cause, "finished");
  ASSERT_NE(Find<frames::CheckpointDone>(), nullptr) << "a report through the descriptor counts";
  const frames::CheckpointDone done = *Find<frames::CheckpointDone>();
  EXPECT_EQ(done.step, 4u);
  const std::string saved = folder_ / "storage/" + done.path;
  EXPECT_TRUE(fs::exists(saved + "/out/w.pt"));
  EXPECT_FALSE(fs::exists(saved + "/out/log"));
  EXPECT_EQ(Log().find("65\n"), std::string::npos);
  start.attempt = 2;
  start.resume = frames::Resume{4, done.path, done.manifest_hash};
  EXPECT_EQ(EndOf(start).cause, "finished");
  EXPECT_NE(Log().find("65\n"), std::string::npos);
}

TEST_F(KeeperTest, TheProgramEndsIfTheRunnerIsKilled) {
  nlohmann::json spec = Kept();
  spec["command"] = {"/bin/sh", "-c",
                     "echo $$ > " + In("p.tmp") + "; mv " + In("p.tmp") + " " + In("program") +
                         "; while :; do :; done"};
  Say(StartOf(spec));
  ASSERT_TRUE(AwaitFile("program"));
  const pid_t program = PidIn("program");
  runner_.Signal(SIGKILL);
  ASSERT_TRUE(runner_.AwaitExit());
  const bool ended = Await([&] { return !ProcessAlive(program); });
  if (!ended) kill(program, SIGKILL);
  EXPECT_TRUE(ended) << "nothing else would end it";
}

TEST_F(KeeperTest, AProgramThatIsNotThereIsNamedAsWithoutAKeeper) {
  nlohmann::json spec = Kept();
  spec["command"] = {"no-such-program"};
  const frames::End end = EndOf(StartOf(spec));
  EXPECT_EQ(end.cause, "config");
  EXPECT_NE(end.message.find("no program 'no-such-program'"), std::string::npos) << end.message;
}

TEST_F(KeeperTest, WithoutPythonTheFolderIsNamed) {
  nlohmann::json spec = Kept();
  spec["command"] = {"/bin/true"};
  spec["resources"] = {{"env", {{{"key", "PATH"}, {"value", folder_ / "nothing"}}}}};
  const frames::End end = EndOf(StartOf(spec));
  EXPECT_EQ(end.cause, "config");
  EXPECT_NE(end.message.find("checkpoint.folder needs it: no program 'python3'"), std::string::npos)
      << end.message;
}

}  // namespace
}  // namespace dt
