// keeper_test.cc: programs below a keeper that is written in the command.
#include "tests/worker/program/program_fixture.h"

namespace dt {
namespace {

// Counts the SIGTERMs that it gets until a second has passed without one.
constexpr char kCounter[] = R"(import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
name = sys.argv[1]
open(name + ".ready", "w").close()
signal.sigwait({signal.SIGTERM})
count = 1
while signal.sigtimedwait({signal.SIGTERM}, 1) is not None:
    count += 1
with open(name + ".tmp", "w") as file:
    file.write(str(count))
os.rename(name + ".tmp", name)
)";

using KeeperTest = ProgramTest;

TEST_F(KeeperTest, AProgramGetsEachRequestToStopOnce) {
  std::ofstream(folder_ / "counter.py") << kCounter;
  int number = 0;
  for (const bool in_a_shell : {false, true}) {
    for (const bool saves : {false, true}) {
      const std::string name = "count" + std::to_string(++number);
      const std::vector<std::string> words = {"python3",
                                              "-m",
                                              "dtrain",
                                              "keep",
                                              "out",
                                              "--",
                                              "python3",
                                              folder_ / "counter.py",
                                              folder_ / name};
      nlohmann::json spec = {{"command", words}};
      if (in_a_shell) {
        std::string text;
        for (const std::string& word : words) text += "'" + word + "' ";
        spec = {{"run", text}};
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

}  // namespace
}  // namespace dt
