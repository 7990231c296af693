// standalone_test.cc: dttrain started by a user: a specification file, JSON lines, torchrun's
// variables.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <sstream>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

using Environment = std::map<std::string, std::string>;

class StandaloneTest : public AttemptTest {
 protected:
  ChildProcess Start(const std::string& spec, const std::string& log, const Environment& env = {}) {
    return ChildProcess(
        {DTTRAIN_PROGRAM, "--spec", folder_.Write("trial.json", spec), "--data-root",
         folder_ / "data", "--storage", folder_.path(), "--device", "cpu", "--threads", "1"},
        folder_ / log, env);
  }
  // Returns the frames that the process printed; other lines are for people.
  Told Read(const std::string& log, size_t rank = 0) {
    Told told;
    told.ends.resize(rank + 1);
    std::istringstream lines(Slurp(folder_ / log));
    for (std::string line; std::getline(lines, line);) {
      auto parsed = frames::ParseFromTrainer(line);
      if (const auto* frame = std::get_if<frames::FromTrainer>(&parsed)) told.Note(rank, *frame);
    }
    return told;
  }
  static int Code(std::optional<int> status) {
    return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
  }
};

// Returns a port that was free a moment ago: torchrun's convention needs it in advance.
std::string FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return std::to_string(ntohs(address.sin_port));
}

TEST_F(StandaloneTest, TrainsAloneAndPrintsOneLineAFrame) {
  ChildProcess trainer = Start(Resolved(SmallSpec()).dump(), "alone.log");
  EXPECT_EQ(Code(trainer.AwaitExit(kTrainingPatience)), 0);
  const Told told = Read("alone.log");
  EXPECT_EQ(told.Cause(), "finished");
  EXPECT_EQ(told.rows.size(), 8u);
  EXPECT_EQ(told.evals.size(), 1u);
  ASSERT_EQ(told.checkpoints.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / (told.checkpoints[0].path + "/manifest.json")));
}

TEST_F(StandaloneTest, ReportsTheTimeOfEachPartOfItsStart) {
  ChildProcess trainer = Start(Resolved(SmallSpec()).dump(), "parts.log");
  EXPECT_EQ(Code(trainer.AwaitExit(kTrainingPatience)), 0);
  const std::string log = Slurp(folder_ / "parts.log");
  const size_t setup = log.find("\nset up in ");
  ASSERT_NE(setup, std::string::npos) << log;
  const std::string line = log.substr(setup + 1, log.find('\n', setup + 1) - setup - 1);
  double all = -1, data = -1, ranks = -1, model = -1, step = -1;
  EXPECT_EQ(std::sscanf(line.c_str(), "set up in %lf s: data %lf s, other ranks %lf s, model %lf s",
                        &all, &data, &ranks, &model),
            4)
      << line;
  EXPECT_NEAR(all, data + ranks + model, 0.025) << "each is rounded to a hundredth";
  const size_t first = log.find("\nfirst step ", setup);
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(std::sscanf(log.c_str() + first, "\nfirst step %lf s", &step), 1);
  EXPECT_GE(step, 0);
}

TEST_F(StandaloneTest, StopsWithAReasonIfItCannotPrint) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  const std::string file = folder_.Write("trial.json", Resolved(spec).dump());
  const std::vector<std::vector<std::string>> commands = {
      {"--help"},
      {"--spec", file, "--data-root", folder_ / "data", "--storage", folder_.path(), "--device",
       "cpu", "--threads", "1"}};
  for (const std::vector<std::string>& flags : commands) {
    std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$@\" >/dev/full", "sh",
                                        DTTRAIN_PROGRAM};
    command.insert(command.end(), flags.begin(), flags.end());
    const std::string log = folder_ / (flags[0] + ".log");
    EXPECT_EQ(Code(ChildProcess(command, log).AwaitExit(kTrainingPatience)), 1) << flags[0];
    EXPECT_NE(Slurp(log).find("cannot write to 'standard output': No space left"),
              std::string::npos)
        << Slurp(log);
  }
}

TEST_F(StandaloneTest, RunsInOneStorageKeepTheirCheckpointsApart) {
  nlohmann::json spec = SmallSpec();
  spec["checkpoint"]["every"]["steps"] = "2";
  spec["train"]["max_steps"] = "8";
  ChildProcess first = Start(Resolved(spec).dump(), "first.log");
  EXPECT_EQ(Code(first.AwaitExit(kTrainingPatience)), 0);
  spec["train"]["max_steps"] = "6";
  ChildProcess second = Start(Resolved(spec).dump(), "second.log");
  EXPECT_EQ(Code(second.AwaitExit(kTrainingPatience)), 0);
  for (const char* log : {"first.log", "second.log"}) {
    const Told told = Read(log);
    ASSERT_FALSE(told.checkpoints.empty());
    const std::string newest = told.checkpoints.back().path;
    EXPECT_TRUE(std::filesystem::exists(folder_ / (newest + "/manifest.json"))) << newest;
  }
}

TEST_F(StandaloneTest, IsOneOfManyRanksUnderTorchrunsVariables) {
  const std::string port = FreePort();
  const auto variables = [&](const char* rank) {
    return Environment{{"RANK", rank},
                       {"LOCAL_RANK", rank},
                       {"WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "127.0.0.1"},
                       {"MASTER_PORT", port}};
  };
  ChildProcess zero = Start(Resolved(SmallSpec()).dump(), "zero.log", variables("0"));
  ChildProcess one = Start(Resolved(SmallSpec()).dump(), "one.log", variables("1"));
  EXPECT_EQ(Code(zero.AwaitExit(kTrainingPatience)), 0);
  EXPECT_EQ(Code(one.AwaitExit(kTrainingPatience)), 0);
  EXPECT_EQ(Read("zero.log").rows.size(), 8u);
  EXPECT_EQ(Read("one.log", 1).Cause(1), "finished");
}

TEST_F(StandaloneTest, BecomesTheCudaProgramBesideItIfAGpuIsWanted) {
  // Copied, since a program looks for others beside its own file.
  const std::string trainer = folder_ / "dttrain";
  std::filesystem::copy_file(DTTRAIN_PROGRAM, trainer);
  const std::string spec = folder_.Write("trial.json", Resolved(SmallSpec()).dump());
  const std::vector<std::string> alone = {
      trainer, "--spec", spec, "--data-root", folder_ / "data", "--storage", folder_.path()};
  std::vector<std::string> on_gpu = alone;
  on_gpu.insert(on_gpu.end(), {"--device", "cuda:3"});
  EXPECT_EQ(Code(ChildProcess(on_gpu, folder_ / "without.log").AwaitExit(kTrainingPatience)), 2);
  EXPECT_NE(Slurp(folder_ / "without.log").find("there is no dttrain-cuda beside"),
            std::string::npos);

  const std::string other = folder_.Write("dttrain-cuda", "#!/bin/sh\necho \"became $*\"\n");
  std::filesystem::permissions(other, std::filesystem::perms::owner_all);
  EXPECT_EQ(Code(ChildProcess(on_gpu, folder_ / "with.log").AwaitExit(kTrainingPatience)), 0);
  EXPECT_NE(Slurp(folder_ / "with.log").find("--device cuda:3"), std::string::npos);
  EXPECT_EQ(Code(ChildProcess(alone, folder_ / "torchrun.log", {{"LOCAL_RANK", "0"}})
                     .AwaitExit(kTrainingPatience)),
            0);
  EXPECT_NE(Slurp(folder_ / "torchrun.log").find("became --spec"), std::string::npos);
  EXPECT_EQ(Code(ChildProcess(alone, folder_ / "cpu.log").AwaitExit(kTrainingPatience)), 0);
  EXPECT_EQ(Read("cpu.log").Cause(), "finished");
}

TEST_F(StandaloneTest, RefusesAnInvalidSpecificationWithExitCodeTwo) {
  ChildProcess no_json = Start("{", "refused.log");
  EXPECT_EQ(Code(no_json.AwaitExit(kTrainingPatience)), 2);
  ChildProcess no_meeting =
      Start(Resolved(SmallSpec()).dump(), "refused.log", {{"WORLD_SIZE", "2"}});
  EXPECT_EQ(Code(no_meeting.AwaitExit(kTrainingPatience)), 2);
  ChildProcess no_rank = Start(Resolved(SmallSpec()).dump(), "refused.log", {{"RANK", "-1"}});
  EXPECT_EQ(Code(no_rank.AwaitExit(kTrainingPatience)), 2);
  ChildProcess no_flag({DTTRAIN_PROGRAM, "--speck", "x"}, folder_ / "refused.log");
  EXPECT_EQ(Code(no_flag.AwaitExit(kTrainingPatience)), 2);
  ChildProcess no_core({DTTRAIN_PROGRAM, "--agent", "--cores", "0,x"}, folder_ / "cores.log");
  EXPECT_EQ(Code(no_core.AwaitExit(kTrainingPatience)), 2);
  EXPECT_NE(Slurp(folder_ / "cores.log").find("--cores"), std::string::npos);
  ChildProcess neither({DTTRAIN_PROGRAM, "--threads", "1"}, folder_ / "refused.log");
  EXPECT_EQ(Code(neither.AwaitExit(kTrainingPatience)), 2);
  ChildProcess help({DTTRAIN_PROGRAM, "--help"}, folder_ / "help.log");
  EXPECT_EQ(Code(help.AwaitExit(kTrainingPatience)), 0);
  for (const char* limit : {"2X", "-1", " 1", "", "G", "17179869184G", "99999999999999999999"}) {
    ChildProcess no_limit({DTTRAIN_PROGRAM, "--agent", "--memory-limit", limit},
                          folder_ / "refused.log");
    EXPECT_EQ(Code(no_limit.AwaitExit(kTrainingPatience)), 2) << limit;
  }
}

}  // namespace
}  // namespace dt::testing
