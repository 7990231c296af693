// isolation_test.cc: one user's program affects nobody else. The experiments of two users alternate
// on one slot through every way in which a program can end. Nothing of one user's appears at the
// other's: not in logs, messages, explanations or metrics, nor in the coordinator's view of the
// worker.
#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/experiments.h"
#include "tests/testing/loopback.h"

namespace dt {
namespace {

// A way to end. WORD stands for a secret of that experiment alone.
struct Way {
  const char* name;
  const char* text;                 // shell script
  std::vector<std::string> logged;  // complete lines that its log must have
  v1::Cause cause;
  std::string said;  // part of its message
};

const std::vector<Way>& Ways() {
  static const auto* ways = new std::vector<Way>{
      {"success",
       "echo WORD; echo '{\"step\": 1, \"val_loss\": 1}'",
       {"WORD"},
       v1::CAUSE_FINISHED,
       ""},
      {"an exit code", "echo WORD >&2; exit 3", {"WORD"}, v1::CAUSE_TRAINER_CRASH, "WORD"},
      {"a signal",
       "echo 'Error: WORD' >&2; kill -SEGV $$",
       {"Error: WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "SIGSEGV"},
      {"a kill", "echo WORD; kill -KILL $$", {"WORD"}, v1::CAUSE_TRAINER_CRASH, "SIGKILL"},
      {"no final newline",
       "printf 'out WORD'; printf 'err WORD' >&2; exit 4",
       {"out WORD", "err WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "err WORD"},
      {"no final newline and success",
       "printf 'token WORD'",
       {"token WORD"},
       v1::CAUSE_FINISHED,
       ""},
      {"a bar",
       "printf '10%% WORD\\r100%% WORD\\r' >&2; exit 5",
       {"10% WORD", "100% WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "100% WORD"},
      {"a bar without an end",
       "printf '10%% WORD\\r100%% WORD'",
       {"10% WORD", "100% WORD"},
       v1::CAUSE_FINISHED,
       ""},
      {"a burst before its error",
       "i=0; while [ $i -lt 1000 ]; do echo line $i; echo err $i >&2; i=$((i+1)); done\n"
       "echo 'RuntimeError: WORD' >&2; exit 1",
       {"line 0", "line 999", "err 999", "RuntimeError: WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "its last line: RuntimeError: WORD"},
      {"an error before a burst",
       "echo 'RuntimeError: WORD' >&2\n"
       "i=0; while [ $i -lt 1000 ]; do echo err $i >&2; i=$((i+1)); done; exit 1",
       {"RuntimeError: WORD", "err 999"},
       v1::CAUSE_TRAINER_CRASH,
       "its last error: RuntimeError: WORD"},
      {"a long line",
       "head -c 100000 /dev/zero | tr '\\0' x; printf WORD; exit 6",
       {},
       v1::CAUSE_TRAINER_CRASH,
       "status 6"},
      {"a time limit of its own",
       "echo WORD; exec timeout 0.2 tail -f /dev/null",
       {"WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "status 124"},
      {"a missing command", "exec /nowhere/WORD", {}, v1::CAUSE_TRAINER_CRASH, "WORD"},
      {"a grandchild that writes on",
       "setsid sh -c 'while :; do echo WORD; printf WORD >&2; done' & exit 7",
       {},
       v1::CAUSE_TRAINER_CRASH,
       "status 7"},
      {"a daemon that writes on",
       "(setsid sh -c 'while :; do printf WORD; done' &); exit 0",
       {},
       v1::CAUSE_FINISHED,
       ""},
      {"the end of its runner",
       // The runner passes a line on within milliseconds; killed before that, it takes it along.
       "echo WORD >&2; timeout 2 tail -f /dev/null; kill -KILL $PPID; exec tail -f /dev/null",
       {"WORD"},
       v1::CAUSE_TRAINER_CRASH,
       "WORD"},
  };
  return *ways;
}

class IsolationTest : public FleetTest {
 protected:
  void SetUp() override {
    cluster_.StartCoordinator();
    cluster_.StartWorker("w0", {"--program-runner", DTPROGRAM});
    ASSERT_TRUE(cluster_.AwaitWorkers(1));
  }
  static v1::ExperimentSpec Program(const std::string& text) {
    v1::ExperimentSpec spec = OneTrial();
    spec.clear_explicit_paths();
    for (const char* path : {"run", "resources.gpus", "resources.device", "seed", "retries.max"}) {
      spec.add_explicit_paths(path);
    }
    spec.mutable_base()->set_run(absl::StrReplaceAll(text, {{"{", "{{"}, {"}", "}}"}}));
    spec.mutable_base()->mutable_retries()->set_max(0);
    return spec;
  }
  // Returns everything that the coordinator shows of an experiment.
  std::string Told(uint64_t experiment) {
    return absl::StrCat(cluster_.Logs(experiment), "\n", cluster_.Trial(experiment).DebugString(),
                        cluster_.Explain(experiment).DebugString(),
                        cluster_.Experiment(experiment).DebugString());
  }
  // Returns the secrets in a text, except `own`. Skips a secret that is cut off at the end of its
  // line: it may be `own`.
  static std::string OtherSecrets(const std::string& text, const std::string& own) {
    std::string others;
    for (size_t at = 0; (at = text.find("secret", at)) != std::string::npos; ++at) {
      const size_t end = text.find_first_not_of("0123456789", at + 6);
      if (end == std::string::npos || text[end] != 'x') continue;
      const std::string secret = text.substr(at, end + 1 - at);
      if (secret != own) absl::StrAppend(&others, secret, " ");
    }
    return others;
  }
  std::vector<std::string> LinesOf(uint64_t experiment) {
    std::vector<std::string> lines;
    std::istringstream text(cluster_.Logs(experiment));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  std::string Scrape() {
    const UniqueFd fd = testing::ConnectLoopback(cluster_.http_address());
    constexpr std::string_view kRequest =
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    EXPECT_EQ(send(fd.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL), std::ssize(kRequest));
    std::string answer;
    char chunk[4096];
    for (ssize_t got; (got = recv(fd.get(), chunk, sizeof(chunk), 0)) > 0;) {
      answer.append(chunk, static_cast<size_t>(got));
    }
    return answer;
  }
  // The other user's program prints nothing, and its message holds nothing but its exit status.
  void ExpectASilentProgramToBeSilent(const Way& before) {
    const uint64_t silent = cluster_.Submit(Program("exit 9"));
    ASSERT_TRUE(cluster_.AwaitTrial(silent, 1, v1::TRIAL_FAILED)) << before.name;
    const std::string message = cluster_.Trial(silent).message();
    EXPECT_EQ(message.find("last"), std::string::npos) << before.name << ": " << message;
    EXPECT_NE(message.find("the program exited with status 9"), std::string::npos) << message;
    const std::vector<std::string> lines = LinesOf(silent);
    ASSERT_EQ(lines.size(), 1u) << before.name << ": " << cluster_.Logs(silent);
    EXPECT_EQ(lines[0].rfind("dtrain: runs exit 9 in ", 0), 0u) << before.name << ": " << lines[0];
    EXPECT_TRUE(cluster_.ValidRows(silent).empty()) << before.name;
    EXPECT_EQ(Told(silent).find("secret"), std::string::npos) << before.name << Told(silent);
  }
  void ExpectItsOwn(const Way& way, const std::string& word, uint64_t experiment) {
    const auto named = [&word](std::string text) {
      return absl::StrReplaceAll(text, {{"WORD", word}});
    };
    const v1::TrialSummary trial = cluster_.Trial(experiment);
    EXPECT_EQ(trial.cause(), way.cause) << way.name << ": " << trial.message();
    EXPECT_NE(trial.message().find(named(way.said)), std::string::npos)
        << way.name << ": " << trial.message();
    const std::vector<std::string> lines = LinesOf(experiment);
    for (const std::string& line : way.logged) {
      EXPECT_EQ(std::count(lines.begin(), lines.end(), named(line)), 1)
          << way.name << ", line " << named(line) << ":\n"
          << cluster_.Logs(experiment).substr(0, 2000);
    }
    ASSERT_FALSE(lines.empty()) << way.name;
    EXPECT_EQ(lines[0].rfind("dtrain: runs ", 0), 0u) << way.name << ": " << lines[0];
    EXPECT_EQ(OtherSecrets(Told(experiment), word), "") << way.name;
  }
};

TEST_F(IsolationTest, NothingOfAnEndedProgramAppearsInTheNextOne) {
  int number = 0;
  for (const Way& way : Ways()) {
    const std::string word = absl::StrCat("secret", ++number, "x");
    const uint64_t experiment =
        cluster_.Submit(Program(absl::StrReplaceAll(way.text, {{"WORD", word}})));
    ASSERT_TRUE(cluster_.AwaitEnd(experiment)) << way.name;
    ExpectASilentProgramToBeSilent(way);
    ExpectItsOwn(way, word, experiment);
    if (HasFatalFailure()) return;
  }
  for (const v1::WorkerSummary& worker : cluster_.Workers()) EXPECT_EQ(worker.state(), "idle");
  const std::string metrics = Scrape();
  EXPECT_NE(metrics.find("dtrain_"), std::string::npos) << metrics;
  EXPECT_EQ(metrics.find("secret"), std::string::npos);
}

TEST_F(IsolationTest, NothingOfAProgramThatCouldNotStartAppearsInTheNextOne) {
  for (const char* word : {"/nowhere/secret", "secret-that-is-in-no-path"}) {
    v1::ExperimentSpec spec = Program("");
    spec.set_explicit_paths(0, "command");
    spec.mutable_base()->add_command(word);
    const uint64_t experiment = cluster_.Submit(spec);
    ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FAILED));
    EXPECT_EQ(cluster_.Trial(experiment).cause(), v1::CAUSE_CONFIG);
    EXPECT_NE(cluster_.Trial(experiment).message().find(word), std::string::npos);
    ExpectASilentProgramToBeSilent({.name = word});
  }
}

TEST_F(IsolationTest, NoOutputOfACancelledProgramAppearsInTheNextOne) {
  const uint64_t experiment = cluster_.Submit(
      Program("echo secret >&2; printf 'secret and on'; trap '' TERM; while :; do :; done"));
  ASSERT_TRUE(Await([&] { return cluster_.Logs(experiment).find("secret") != std::string::npos; }));
  cluster_.Cancel(experiment);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_CANCELLED));
  ExpectASilentProgramToBeSilent({.name = "a cancel"});
}

TEST_F(IsolationTest, NoVariableOfAProgramAppearsInTheNextOne) {
  v1::ExperimentSpec spec = Program("echo \"$MINE|$EMPTY|$LINES_OF_IT\"");
  spec.add_explicit_paths("resources.env");
  const auto set = [&spec](const char* name, const char* value) {
    v1::Label& variable = *spec.mutable_base()->mutable_resources()->add_env();
    variable.set_key(name);
    variable.set_value(value);
  };
  set("MINE", "a=b secret ü");
  set("EMPTY", "");
  set("LINES_OF_IT", "one\ntwo");
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  const std::vector<std::string> lines = LinesOf(experiment);
  ASSERT_EQ(lines.size(), 3u) << cluster_.Logs(experiment);
  EXPECT_EQ(lines[1], "a=b secret ü||one");
  EXPECT_EQ(lines[2], "two");
  const uint64_t other = cluster_.Submit(Program("env"));
  ASSERT_TRUE(cluster_.AwaitTrial(other, 1, v1::TRIAL_FINISHED));
  EXPECT_EQ(cluster_.Logs(other).find("secret"), std::string::npos) << cluster_.Logs(other);
  EXPECT_EQ(cluster_.Logs(other).find("MINE"), std::string::npos);
}

// The worker is killed and started again: nobody waits for its lease.
TEST_F(IsolationTest, ARestartedWorkerReportsThatItsProgramHasEnded) {
  v1::ExperimentSpec spec = Program("[ $DTRAIN_ATTEMPT = 2 ] || exec tail -f /dev/null");
  spec.mutable_base()->mutable_retries()->set_max(3);
  spec.add_explicit_paths("retries.backoff");
  spec.mutable_base()->mutable_retries()->set_backoff_seconds(0);
  const uint64_t experiment = cluster_.Submit(spec);
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_RUNNING));
  cluster_.worker("w0").KillAndReap();
  cluster_.StartWorker("w0", {"--program-runner", DTPROGRAM});
  ASSERT_TRUE(cluster_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  const auto explained = cluster_.Explain(experiment);
  ASSERT_EQ(explained.attempts_size(), 2);
  EXPECT_EQ(explained.attempts(0).cause(), v1::CAUSE_WORKER_LOST);
  EXPECT_EQ(explained.attempts(0).message(), "worker w0 ended and was started again");
}

}  // namespace
}  // namespace dt
