// dtctl_test.cc: a user's way through the system: the real dtctl against the real coordinator.
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "common/pack/pack.h"
#include "common/sha256.h"
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

class DtctlTest : public FleetTest {
 protected:
  struct Outcome {
    int status = -1;
    std::string output;  // stdout and stderr together
  };
  Outcome Dtctl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), DTCTL);
    for (const std::string& flag : cluster_.ClientFlags()) arguments.push_back(flag);
    const std::string log = cluster_.folder() / ("dtctl-" + std::to_string(++runs_) + ".log");
    testing::ChildProcess process(arguments, log);
    const auto status = process.AwaitExit();
    EXPECT_TRUE(status.has_value()) << arguments[1] << " does not end";
    Outcome outcome;
    if (status && WIFEXITED(*status)) outcome.status = WEXITSTATUS(*status);
    outcome.output = testing::Slurp(log);
    return outcome;
  }
  // Runs dtctl with the test's own folders for its memory and state.
  Outcome DtctlAlone(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), DTCTL);
    const std::string log = cluster_.folder() / ("dtctl-" + std::to_string(++runs_) + ".log");
    testing::ChildProcess process(arguments, log,
                                  {{"XDG_CONFIG_HOME", cluster_.folder() / "config"},
                                   {"XDG_RUNTIME_DIR", cluster_.folder() / "runtime"},
                                   {"XDG_STATE_HOME", cluster_.folder() / "state"}});
    const auto status = process.AwaitExit(std::chrono::minutes(2));
    Outcome outcome;
    if (status && WIFEXITED(*status)) outcome.status = WEXITSTATUS(*status);
    outcome.output = testing::Slurp(log);
    return outcome;
  }
  std::string WriteFile(const std::string& script, int steps) {
    return cluster_.folder().Write("grid.yaml",
                                   "version: 1\n"
                                   "name: from-a-file\n"
                                   "parameters:\n"
                                   "  optimizer.lr: [1.0e-3, 3.0e-4]\n"
                                   "resources: {device: cpu}\n"
                                   "data: {train: \"" +
                                       script +
                                       "\", val: none}\n"
                                       "train: {max_steps: " +
                                       std::to_string(steps) + "}\n");
  }

  int runs_ = 0;
};

TEST_F(DtctlTest, AFileIsSubmittedWaitedForAndReadBack) {
  Start({"w0"});
  const std::string file = WriteFile("step_ms=1 eval_every=20", 60);
  EXPECT_EQ(Dtctl({"validate", file}).status, 0);
  const Outcome submitted = Dtctl({"submit", file, "--id-only"});
  ASSERT_EQ(submitted.status, 0) << submitted.output;
  const std::string id = submitted.output.substr(0, submitted.output.find('\n'));
  EXPECT_EQ(Dtctl({"wait", id}).status, 0);
  const Outcome trials = Dtctl({"get", "trials", id, "-o", "json"});
  EXPECT_EQ(trials.status, 0) << trials.output;
  EXPECT_TRUE(nlohmann::json::accept(trials.output)) << trials.output;
  const Outcome metrics = Dtctl({"metrics", id, "-o", "csv"});
  EXPECT_EQ(metrics.status, 0);
  EXPECT_GE(std::count(metrics.output.begin(), metrics.output.end(), '\n'), 121);
  EXPECT_EQ(Dtctl({"best", id}).status, 0);
  EXPECT_EQ(Dtctl({"explain", id + "/1"}).status, 0);
}

TEST_F(DtctlTest, TheExitStatusFollowsTheExperimentsEnd) {
  Start({"w0"});
  EXPECT_EQ(Dtctl({"submit", WriteFile("end_at=3 end_cause=nonfinite", 10), "--wait"}).status, 10);
  const Outcome endless = Dtctl({"submit", WriteFile("step_ms=1", 1000000), "--id-only"});
  const std::string id = endless.output.substr(0, endless.output.find('\n'));
  ASSERT_EQ(endless.status, 0);
  ASSERT_TRUE(cluster_.AwaitStep(std::stoull(id), 1, 10));
  EXPECT_EQ(Dtctl({"cancel", id}).status, 0);
  EXPECT_EQ(Dtctl({"wait", id}).status, 11);
  EXPECT_EQ(Dtctl({"wait", "999"}).status, 4);
  EXPECT_EQ(Dtctl({"submit", cluster_.folder().Write("bad.yaml", "version: 1\nnmae: x\n")}).status,
            2);
  cluster_.KillCoordinator();
  EXPECT_EQ(Dtctl({"get", "experiments"}).status, 3);
}

TEST_F(DtctlTest, AnExperimentNothingCouldRunIsAcceptedAndWaits) {
  Start({});
  const Outcome submitted = Dtctl({"submit", WriteFile("step_ms=1", 10), "--id-only"});
  ASSERT_EQ(submitted.status, 0) << submitted.output;
  const std::string id = submitted.output.substr(0, submitted.output.find('\n'));
  EXPECT_EQ(Dtctl({"submit", WriteFile("step_ms=1", 10), "-n"}).status, 7);
  cluster_.StartWorker("late");
  EXPECT_EQ(Dtctl({"wait", id}).status, 0);
}

TEST_F(DtctlTest, TheCodeThatRanIsDescribedAndUnpackedAgain) {
  Start({});
  const std::string packed = *pack::Pack({{"a/train.py", pack::Kind::kFile, "print(1)"}});
  v1::PutCodeRequest put;
  put.set_digest(Sha256Hex(packed));
  put.set_parts(1);
  put.set_data(packed);
  v1::PutCodeResponse answer;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  ASSERT_TRUE(cluster_.control().PutCode(&context, put, &answer).ok());
  v1::ExperimentSpec spec = Training(10).spec();
  spec.mutable_code()->set_digest(put.digest());
  spec.mutable_code()->set_bytes(packed.size());
  spec.mutable_code()->set_files(1);
  spec.mutable_code()->set_revision("0123456789abcdef");
  spec.mutable_code()->set_changes(" M a/train.py\n");
  const std::string id = std::to_string(cluster_.Submit(spec));
  const std::string described = Dtctl({"describe", id}).output;
  EXPECT_NE(described.find("1 file, 45 B, sha256 " + put.digest().substr(0, 12)), std::string::npos)
      << described;
  EXPECT_NE(described.find("commit 0123456789abcdef, and changes:"), std::string::npos);
  EXPECT_NE(described.find(" M a/train.py"), std::string::npos) << described;
  const std::string folder = cluster_.folder() / "what-ran";
  const Outcome unpacked = Dtctl({"code", id, "-o", folder});
  ASSERT_EQ(unpacked.status, 0) << unpacked.output;
  EXPECT_EQ(testing::Slurp(folder + "/a/train.py"), "print(1)");
  EXPECT_NE(Dtctl({"code", id, "-o", folder}).output.find("is there already"), std::string::npos);
  const uint64_t without = cluster_.Submit(Training(10).spec());
  EXPECT_EQ(Dtctl({"code", std::to_string(without), "-o", folder + "2"}).status, 4);
}

TEST_F(DtctlTest, ATrialThatWaitsForAQuotaReportsItAndStartsOnceTheQuotaIsGone) {
  Start({"w0"});
  const std::string team = "team=vision";
  const Outcome set = Dtctl({"quota", "set", "--label", team, "--slots", "0"});
  EXPECT_NE(set.output.find("experiments with the label team=vision hold at most 0 slots at once"),
            std::string::npos)
      << set.output;
  EXPECT_EQ(Dtctl({"quota", "set", "--slots", "1"}).status, 2);
  const std::string file = cluster_.folder().Write(
      "labelled.yaml",
      "version: 1\nname: of-vision\nlabels: {team: vision}\nresources: {device: cpu}\n"
      "data: {train: step_ms=1, val: none}\ntrain: {max_steps: 10}\n");
  const Outcome submitted = Dtctl({"submit", file, "--id-only"});
  ASSERT_EQ(submitted.status, 0) << submitted.output;
  const std::string id = submitted.output.substr(0, submitted.output.find('\n'));
  const Outcome explained = Dtctl({"explain", id + "/1"});
  EXPECT_NE(explained.output.find("experiments with the label team=vision hold 0 of at most 0"),
            std::string::npos)
      << explained.output;
  EXPECT_NE(Dtctl({"quota", "list"}).output.find("team=vision"), std::string::npos);
  EXPECT_EQ(Dtctl({"quota", "remove", "--label", team}).status, 0);
  EXPECT_EQ(Dtctl({"wait", id}).status, 0);
}

TEST_F(DtctlTest, UpStartsAClusterOfTheRealProgramsAndDownLeavesNone) {
  const Outcome up = DtctlAlone({"up", "--slots", "2"});
  EXPECT_EQ(up.status, 0) << up.output;
  const Outcome workers = DtctlAlone({"get", "workers", "-o", "name"});
  EXPECT_EQ(workers.output, "local/cpu:0\nlocal/cpu:1\n");
  EXPECT_EQ(DtctlAlone({"up"}).status, 0);
  const Outcome down = DtctlAlone({"down"});
  EXPECT_EQ(down.status, 0) << down.output;
  EXPECT_NE(down.output.find("3 programs ended"), std::string::npos) << down.output;
  const Outcome again = DtctlAlone({"up", "-o", "json"});
  EXPECT_NE(again.output.find("\"started\": ["), std::string::npos) << again.output;
  const Outcome purged = DtctlAlone({"down", "--purge", "--yes"});
  EXPECT_NE(purged.output.find("Nothing of it is left"), std::string::npos) << purged.output;
}

TEST_F(DtctlTest, APurgeLeavesAnotherClusterOfTheUserUnharmed) {
  ASSERT_EQ(DtctlAlone({"up", "--slots", "1"}).status, 0);
  ASSERT_EQ(DtctlAlone({"up", "--name", "other", "--slots", "1"}).status, 0);
  const std::string run = cluster_.folder() / "runtime/dtrain";
  const auto files_of = [&run](const std::string& name) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(run)) {
      const std::string file = entry.path().filename();
      if (file.rfind("slot-" + name, 0) == 0) names.insert(file);
    }
    return names;
  };
  EXPECT_FALSE(files_of("local_cpu_0").empty());
  const std::set<std::string> others = files_of("other_cpu_0");
  EXPECT_EQ(DtctlAlone({"down", "--purge", "--yes"}).status, 0);
  EXPECT_TRUE(files_of("local_cpu_0").empty());
  const std::set<std::string> left = files_of("other_cpu_0");
  EXPECT_TRUE(std::includes(left.begin(), left.end(), others.begin(), others.end()))
      << "its trainer may have made one more since";
  const Outcome workers = DtctlAlone({"--context", "other", "get", "workers", "-o", "csv"});
  EXPECT_NE(workers.output.find("idle"), std::string::npos) << workers.output;
  EXPECT_EQ(DtctlAlone({"down", "--name", "other", "--purge", "--yes"}).status, 0);
  EXPECT_FALSE(std::filesystem::exists(run));
}

TEST_F(DtctlTest, UpWithTokensAdmitsItsOwnUserAndWorkers) {
  const Outcome up = DtctlAlone({"up", "--auth", "--slots", "1"});
  EXPECT_EQ(up.status, 0) << up.output;
  EXPECT_EQ(DtctlAlone({"get", "workers", "-o", "name"}).output, "local/cpu:0\n");
  const Outcome tokens = DtctlAlone({"token", "list", "-o", "csv"});
  EXPECT_NE(tokens.output.find("worker,*"), std::string::npos) << tokens.output;
  // A caller that names the address instead of the context shows no token.
  const auto addresses = nlohmann::json::parse(
      testing::Slurp(cluster_.folder() / "state/dtrain/local/addresses.json"), nullptr, false);
  ASSERT_TRUE(addresses.contains("grpc")) << addresses;
  const Outcome stranger = DtctlAlone({"--address", addresses["grpc"], "get", "experiments"});
  EXPECT_EQ(stranger.status, 5) << stranger.output;
  EXPECT_EQ(DtctlAlone({"down"}).status, 0);
  EXPECT_EQ(DtctlAlone({"up"}).status, 0) << "it stays so";
  EXPECT_EQ(DtctlAlone({"token", "list"}).status, 0);
  const Outcome purged = DtctlAlone({"down", "--purge", "--yes"});
  EXPECT_NE(purged.output.find("Nothing of it is left"), std::string::npos) << purged.output;
}

}  // namespace
}  // namespace dt
