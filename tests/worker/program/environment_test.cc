// environment_test.cc: the environment of a program, and the meaning of its exit status.
#include "worker/program/environment.h"

#include <signal.h>

#include "common/program_variables.h"
#include "gtest/gtest.h"
#include "worker/program/ending.h"

namespace dt::program {
namespace {

frames::Start SecondOfTwoHosts() {
  frames::Start start;
  start.experiment = 7;
  start.experiment_name = "mine";
  start.trial = 3;
  start.attempt = 2;
  start.rank = 3;
  start.world_size = 4;
  start.local_rank = 1;
  start.local_world_size = 2;
  start.node_rank = 1;
  start.nodes = 2;
  start.local_devices = {"GPU-a", "GPU-b"};
  start.metric = "accuracy";
  return start;
}

ProgramSpec ReadGiven(const std::string& json) {
  const auto spec = SpecOf(nlohmann::json::parse(json));
  EXPECT_TRUE(spec.ok()) << spec.status();
  return spec.value_or(ProgramSpec{});
}

TEST(PermittedTest, SecretsOfTheWorkerStayWithIt) {
  const Environment all = {{"PATH", "/bin"},      {"NCCL_DEBUG", "INFO"},
                           {"LC_ALL", "C"},       {"AWS_SECRET_ACCESS_KEY", "x"},
                           {"DTRAIN_TOKEN", "x"}, {"DTRAIN_TOKEN_FILE", "/run/t"},
                           {"DATABASE_URL", "x"}, {"MY_CLUSTER", "blue"}};
  const Environment few = {{"PATH", "/bin"}, {"NCCL_DEBUG", "INFO"}, {"LC_ALL", "C"}};
  EXPECT_EQ(Permitted(all, {}), few);
  Environment more = few;
  more["MY_CLUSTER"] = "blue";
  EXPECT_EQ(Permitted(all, {"MY_CLUSTER", "DTRAIN_TOKEN", "ABSENT"}), more);
}

TEST(PermittedTest, AToolGetsItsOwnIndexesBesides) {
  const Environment all = {{"PATH", "/bin"},
                           {"UV_INDEX", "https://x.example"},
                           {"NETRC", "/w/.netrc"},
                           {"AWS_SECRET_ACCESS_KEY", "x"},
                           {"DTRAIN_TOKEN_FILE", "/run/t"}};
  EXPECT_EQ(
      PermittedToTools(environments::Kind::kUv, all, {"DTRAIN_TOKEN_FILE"}),
      (Environment{{"PATH", "/bin"}, {"UV_INDEX", "https://x.example"}, {"NETRC", "/w/.netrc"}}));
}

TEST(PermittedTest, AToolGetsNoVariablesOfTheOthers) {
  const Environment all = {{"UV_INDEX", "u"},
                           {"DOCKER_CONFIG", "/w/docker"},
                           {"MAMBA_NO_RC", "1"},
                           {"MODULEPATH", "/modules"}};
  for (const auto& [kind, name] : {std::pair(environments::Kind::kImage, "DOCKER_CONFIG"),
                                   std::pair(environments::Kind::kConda, "MAMBA_NO_RC"),
                                   std::pair(environments::Kind::kModule, "MODULEPATH")}) {
    const Environment permitted = PermittedToTools(kind, all, {});
    EXPECT_EQ(permitted.size(), 1u) << name;
    EXPECT_TRUE(permitted.contains(name)) << name;
  }
}

TEST(PermittedTest, AContainerGetsNothingAboutFoldersOfTheHost) {
  const Environment all = {{"PATH", "/bin"},         {"HOME", "/w"},
                           {"PYTHONPATH", "/lib"},   {"LD_LIBRARY_PATH", "/lib"},
                           {"NCCL_DEBUG", "INFO"},   {"http_proxy", "http://proxy"},
                           {"TOKEN_OF_MINE", "sec"}, {"MY_CLUSTER", "blue"}};
  EXPECT_EQ(PermittedInContainer(all, {"MY_CLUSTER"}),
            (Environment{
                {"NCCL_DEBUG", "INFO"}, {"http_proxy", "http://proxy"}, {"MY_CLUSTER", "blue"}}));
}

TEST(GivenTest, TheSpecificationIsReadAsProtobufWritesIt) {
  const ProgramSpec spec = ReadGiven(R"({"command": ["python3", "a.py"], "run": "", "steps": "100",
      "seed": "9", "checkpoint": {"keep_latest": 2, "keep_best": 0},
      "values": [{"path": "lr", "value": {"number": 0.1}}, {"path": "n", "value": {"integer": "5"}},
                 {"path": "o.name", "value": {"text": "adam"}}, {"path": "f", "value": {"flag": true}},
                 {"path": "b", "value": {"numbers": {"values": [1, 2]}}}]})");
  EXPECT_EQ(spec.command, (std::vector<std::string>{"python3", "a.py"}));
  EXPECT_EQ(spec.steps, 100u);
  EXPECT_EQ(spec.keep_latest, 2);
  EXPECT_EQ(spec.parameters,
            nlohmann::json::parse(
                R"({"lr": 0.1, "n": 5, "o.name": "adam", "f": true, "b": [1, 2], "seed": 9})"));
  EXPECT_EQ(WordsOf(ReadGiven(R"({"run": "a; b"})")),
            (std::vector<std::string>{"/bin/sh", "-c", "a; b"}));
  EXPECT_FALSE(SpecOf(nlohmann::json::parse("{}")).ok());
  EXPECT_FALSE(SpecOf(nlohmann::json::parse(R"({"command": 5})")).ok());
}

TEST(GivenTest, ARankHasTorchrunsVariables) {
  const ProgramSpec spec = ReadGiven(R"({"command": ["a"], "steps": "10", "seed": "4"})");
  LaunchContext context;
  context.cuda = true;
  context.threads = 6;
  context.store_address = "[fd00::1]:2345";
  context.report = "/run/report";
  context.module_folder = "/m";
  context.checkpoint_folder = "/s/7/3/a2";
  context.resume_folder = "/s/7/3/a1/step-5";
  context.resume_step = 5;
  context.rungs = {3, 6};
  const auto environment =
      EnvironmentOf(SecondOfTwoHosts(), spec, context, {{"PATH", "/bin"}, {"PYTHONPATH", "/mine"}});
  ASSERT_TRUE(environment.ok());
  const Environment expected = {{"PATH", "/bin"},
                                {"PYTHONPATH", "/mine:/m"},
                                {"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "1"},
                                {"NODE_RANK", "1"},
                                {"MASTER_ADDR", "fd00::1"},
                                {"MASTER_PORT", "2345"},
                                {"TORCHELASTIC_RUN_ID", "dtrain-7-3-2"},
                                {"TORCHELASTIC_RESTART_COUNT", "1"},
                                {"OMP_NUM_THREADS", "6"},
                                {"PYTHONFAULTHANDLER", "1"},
                                {"CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b"},
                                {"TORCH_FR_BUFFER_SIZE", "2000"},
                                {"TORCH_FR_DUMP_TEMP_FILE", "/s/7/3/a2/nccl-rank-"},
                                {"TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "/run/report-nccl-"},
                                {"TORCH_NCCL_DUMP_ON_TIMEOUT", "1"},
                                {"DTRAIN_RANK", "3"},
                                {"DTRAIN_WORLD_SIZE", "4"},
                                {"DTRAIN_LOCAL_RANK", "1"},
                                {"DTRAIN_EXPERIMENT", "7"},
                                {"DTRAIN_TRIAL", "3"},
                                {"DTRAIN_NAME", "mine"},
                                {"DTRAIN_ATTEMPT", "2"},
                                {"DTRAIN_PARAMETERS", R"({"seed":4})"},
                                {"DTRAIN_SEED", "4"},
                                {"DTRAIN_STEPS", "10"},
                                {"DTRAIN_RUNGS", "3,6"},
                                {"DTRAIN_METRIC", "accuracy"},
                                {"DTRAIN_REPORT", "/run/report"},
                                {"DTRAIN_REPORT_FD", "3"},
                                {"DTRAIN_CHECKPOINT_DIR", "/s/7/3/a2"},
                                {"DTRAIN_RESUME", "/s/7/3/a1/step-5"},
                                {"DTRAIN_RESUME_STEP", "5"}};
  EXPECT_EQ(*environment, expected);
}

// Only NCCL has collectives to record, and the record needs a folder that outlives the attempt.
TEST(GivenTest, OnlyGangsOnGpusRecordTheirCollectives) {
  const ProgramSpec spec = ReadGiven(R"({"run": "true"})");
  const auto records = [&spec](int32_t ranks, bool cuda, const std::string& storage) {
    frames::Start start = SecondOfTwoHosts();
    start.world_size = ranks;
    LaunchContext context;
    context.cuda = cuda;
    context.checkpoint_folder = storage;
    const auto environment = EnvironmentOf(start, spec, context, {});
    return environment.ok() && environment->contains("TORCH_FR_DUMP_TEMP_FILE");
  };
  EXPECT_TRUE(records(4, true, "/s"));
  EXPECT_FALSE(records(1, true, "/s"));
  EXPECT_FALSE(records(4, false, "/s"));
  EXPECT_FALSE(records(4, true, ""));
}

// Returns the names of the variables, besides DTRAIN_…, that tell a program its rank.
std::vector<std::string> RankNames(const std::string& launcher, int world_size) {
  frames::Start start;
  start.world_size = world_size;
  ProgramSpec spec = ReadGiven(R"({"command": ["a"]})");
  spec.launcher = launcher;
  const auto environment = EnvironmentOf(start, spec, {}, {{"RANK", "9"}, {"MASTER_ADDR", "x"}});
  EXPECT_TRUE(environment.ok());
  std::vector<std::string> names;
  for (const auto& [name, value] : *environment) {
    const bool other = name.starts_with("DTRAIN_") || name.starts_with("PYTHON") ||
                       name == "OMP_NUM_THREADS" || name == "CUDA_VISIBLE_DEVICES" ||
                       name.starts_with("TORCHELASTIC_");
    if (!other) names.push_back(name);
  }
  return names;
}

TEST(GivenTest, TheLauncherDecidesWhichRankVariablesAreSet) {
  using Names = std::vector<std::string>;
  const Names torchrun = {"GROUP_RANK",  "LOCAL_RANK",  "LOCAL_WORLD_SIZE",
                          "MASTER_ADDR", "MASTER_PORT", "NODE_RANK",
                          "RANK",        "WORLD_SIZE"};
  EXPECT_EQ(RankNames("auto", 1), Names()) << "a script that tests for RANK is alone";
  EXPECT_EQ(RankNames("auto", 2), torchrun);
  EXPECT_EQ(RankNames("", 1), torchrun) << "a trial of version 0.2.0 goes on as it was";
  EXPECT_EQ(RankNames("torchrun", 1), torchrun);
  EXPECT_EQ(RankNames("none", 2), Names());
  const Names mpi = {"MASTER_ADDR",
                     "MASTER_PORT",
                     "MPI_LOCALNRANKS",
                     "MPI_LOCALRANKID",
                     "OMPI_COMM_WORLD_LOCAL_RANK",
                     "OMPI_COMM_WORLD_LOCAL_SIZE",
                     "OMPI_COMM_WORLD_NODE_RANK",
                     "OMPI_COMM_WORLD_RANK",
                     "OMPI_COMM_WORLD_SIZE",
                     "OMPI_UNIVERSE_SIZE",
                     "PMI_RANK",
                     "PMI_SIZE"};
  EXPECT_EQ(RankNames("mpi", 1), mpi);
  EXPECT_EQ(RankNames("mpi", 2), mpi);
  EXPECT_EQ(
      RankNames("accelerate", 1),
      (Names{"ACCELERATE_DYNAMO_BACKEND", "ACCELERATE_MIXED_PRECISION", "ACCELERATE_USE_CPU"}));
  EXPECT_EQ(RankNames("accelerate", 2).size(), torchrun.size() + 3);
}

TEST(GivenTest, TheLogListsTheSetVariables) {
  frames::Start start;
  ProgramSpec spec = ReadGiven(R"({"command": ["a"], "launcher": "auto"})");
  const auto said = [&] { return Announcement(start, spec, "/w", ""); };
  EXPECT_NE(said().find("; no launcher's variables"), std::string::npos) << said();
  start.world_size = 2;
  EXPECT_NE(said().find("; torchrun's variables, rank 0 of 2"), std::string::npos) << said();
  spec.launcher = "mpi";
  EXPECT_NE(said().find("; mpirun's variables, rank 0 of 2"), std::string::npos) << said();
}

TEST(GivenTest, ExistingVariablesAreReplacedOnlyIfTheTrialSetsThem) {
  const ProgramSpec spec = ReadGiven(R"({"command": ["a"]})");
  const auto environment = EnvironmentOf(
      {}, spec, {}, {{"OMP_NUM_THREADS", "2"}, {"DTRAIN_RESUME", "/old"}, {"RANK", "9"}});
  ASSERT_TRUE(environment.ok());
  EXPECT_EQ(environment->at("OMP_NUM_THREADS"), "2");
  EXPECT_EQ(environment->at("RANK"), "0");
  EXPECT_EQ(environment->at("CUDA_VISIBLE_DEVICES"), "") << "a CPU slot has no GPU";
  EXPECT_FALSE(environment->contains("DTRAIN_RESUME")) << "from the start";
}

TEST(GivenTest, TheExperimentsVariablesAreSetWithAnyNamesAndValues) {
  const ProgramSpec spec = ReadGiven(R"({"command": ["a"], "resources": {"env": [
      {"key": "WANDB_MODE", "value": "offline"}, {"key": "EMPTY", "value": ""},
      {"key": "OPTIONS", "value": "--a=b --c=d"}, {"key": "lines", "value": "one\ntwo\t"},
      {"key": "NAME", "value": "Jürgen 日本"}, {"key": "PATH", "value": "/mine"},
      {"key": "OMP_NUM_THREADS", "value": "7"}, {"key": "PYTHONPATH", "value": "/lib"},
      {"key": "_", "value": "{}"}, {"key": "RANK", "value": "9"}]}})");
  LaunchContext context;
  context.module_folder = "/module";
  const auto environment = EnvironmentOf({}, spec, context, {{"PATH", "/bin"}, {"HOME", "/w"}});
  ASSERT_TRUE(environment.ok()) << environment.status();
  const Environment expected = {{"WANDB_MODE", "offline"},
                                {"EMPTY", ""},
                                {"OPTIONS", "--a=b --c=d"},
                                {"lines", "one\ntwo\t"},
                                {"NAME", "Jürgen 日本"},
                                {"PATH", "/mine"},
                                {"HOME", "/w"},
                                {"OMP_NUM_THREADS", "7"},
                                {"PYTHONPATH", "/lib:/module"},
                                {"_", "{}"},
                                {"RANK", "0"}};
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(environment->contains(name)) << name;
    EXPECT_EQ(environment->at(name), value) << name;
  }
}

TEST(GivenTest, AVariableThatNoSystemTakesIsRefused) {
  for (const char* variable : {R"({"key": "", "value": "x"})", R"({"key": "A=B", "value": "x"})",
                               R"({"key": "A", "value": "x\u0000y"})"}) {
    const auto spec = SpecOf(nlohmann::json::parse(
        std::string(R"({"run": "true", "resources": {"env": [)") + variable + "]}}"));
    EXPECT_EQ(spec.status().code(), kConfigError) << variable;
  }
}

TEST(GivenTest, AVariableThatTheSystemWouldRefuseIsNamed) {
  ProgramSpec spec = ReadGiven(R"({"command": ["a"]})");
  spec.parameters["big"] = std::string(200'000, 'x');
  const auto environment = EnvironmentOf({}, spec, {}, {});
  ASSERT_FALSE(environment.ok());
  EXPECT_NE(environment.status().message().find("DTRAIN_PARAMETERS"), std::string::npos);
}

TEST(GivenTest, ARelativeFolderIsWithinTheCode) {
  ProgramSpec spec;
  EXPECT_EQ(*FolderOf(spec, "", "/scratch"), "/scratch");
  EXPECT_EQ(*FolderOf(spec, "/code", "/scratch"), "/code");
  spec.workdir = "runs";
  EXPECT_EQ(*FolderOf(spec, "/code", "/scratch"), "/code/runs");
  EXPECT_FALSE(FolderOf(spec, "", "/scratch").ok());
  spec.workdir = "/elsewhere";
  EXPECT_EQ(*FolderOf(spec, "", "/scratch"), "/elsewhere");
}

TEST(GivenTest, TheLogBeginsWithTheCommandAndTheSubmitter) {
  frames::Start start;
  start.submitted_by = "ann";
  EXPECT_EQ(Announcement(start, ReadGiven(R"({"command": ["a", "--b"]})"), "/w", "/v/bin/a"),
            "runs a --b in /w, submitted by ann; torchrun's variables, rank 0 of 1; a is /v/bin/a");
}

TEST(GivenTest, TheLookedUpWordIsTheProgramsOwn) {
  ProgramSpec spec;
  for (const auto& [run, word] : {std::pair("python3 train.py", "python3"),
                                  {" \n python3.11 -c 'x'", "python3.11"},
                                  {"exec torchrun a.py", "torchrun"},
                                  {"CUDA=1 LR=0.5 python a.py", "python"},
                                  {"python3", "python3"},
                                  {"", ""},
                                  {"A=1", ""},
                                  {"./train.sh", ""},
                                  {"/v/bin/python a", ""},
                                  {"PATH=/v/bin python3 a.py", ""},
                                  {"A='b c' python3 a.py", ""},
                                  {"cd x && python3 a", ""},
                                  {"echo a", ""},
                                  {"exit 127", ""},
                                  {"export A=1\npython3 a.py", ""},
                                  {". venv/bin/activate", ""},
                                  {"if true; then a; fi", ""},
                                  {"$PYTHON a.py", ""},
                                  {"(python3 a.py)", ""},
                                  {"true; python3 a", ""}}) {
    spec.run = run;
    EXPECT_EQ(WordLookedUp(spec), word) << run;
  }
  EXPECT_EQ(WordLookedUp(ReadGiven(R"({"command": ["my tool", "a"]})")), "my tool");
  EXPECT_EQ(WordLookedUp(ReadGiven(R"({"command": ["./tool", "a"]})")), "");
}

constexpr int Exited(int status) { return status << 8; }

std::string CauseOf(int status, const environments::ContainerEnd& end,
                    const std::string& workdir = "") {
  const auto found = ContainerEnding(status, end, "podman", workdir);
  return found ? found->cause : "";
}

TEST(EndingTest, AContainerThatNeverStartedIsTheHostsFault) {
  const environments::ContainerEnd unknown, created{.known = true},
      ran{.known = true, .started = true};
  for (const int code : {125, 126, 127}) {
    EXPECT_EQ(CauseOf(Exited(code), unknown), "worker_fault") << code;
    EXPECT_EQ(CauseOf(Exited(code), created), "worker_fault") << code;
    EXPECT_EQ(CauseOf(Exited(code), created, "/in/image"), "config") << code;
    EXPECT_EQ(CauseOf(Exited(code), ran), "") << code;
  }
  for (const int code : {1, 124, 128, 137}) {
    EXPECT_EQ(CauseOf(Exited(code), unknown), "") << code;
    EXPECT_EQ(CauseOf(Exited(code), ran), "") << code;
  }
}

TEST(EndingTest, AContainerThatWasTakenFromItsProgramIsTheHostsFault) {
  const environments::ContainerEnd gone{.gone = true},
      runs{.known = true, .started = true, .running = true};
  for (const int status : {Exited(1), Exited(127), Exited(137), Exited(143), SIGKILL}) {
    EXPECT_EQ(CauseOf(status, gone), "worker_fault") << status;
    EXPECT_EQ(CauseOf(status, runs), "worker_fault") << status;
    EXPECT_EQ(CauseOf(status, runs, "/in/image"), "worker_fault") << status;
  }
  EXPECT_EQ(CauseOf(Exited(0), gone), "") << "it finished";
  EXPECT_EQ(CauseOf(SIGKILL, {.known = true, .started = true}), "worker_fault")
      << "the runtime's client, not the program";
  EXPECT_EQ(CauseOf(SIGSEGV, {.started = true}), "") << "apptainer's client is the program";
  EXPECT_EQ(ContainerEnding(Exited(127), runs, "podman", "")->message,
            "podman exited with status 127 before the program in its container ended: it was "
            "killed, or the container's monitor was");
}

TEST(EndingTest, AProgramThatASignalEndedMayHaveLostItsContainer) {
  const environments::ContainerEnd ran{.known = true, .started = true};
  for (const int code : {137, 143}) EXPECT_TRUE(MayBeBeingRemoved(Exited(code), ran)) << code;
  for (const int code : {1, 125, 127, 139}) {
    EXPECT_FALSE(MayBeBeingRemoved(Exited(code), ran)) << code;
  }
  EXPECT_FALSE(MayBeBeingRemoved(SIGKILL, ran)) << "the runtime's client, not the program";
  const int killed = Exited(137);
  EXPECT_FALSE(MayBeBeingRemoved(killed, {.gone = true})) << "there is no need to wait";
  EXPECT_FALSE(MayBeBeingRemoved(killed, {})) << "the runtime does not answer";
  EXPECT_FALSE(MayBeBeingRemoved(killed, {.known = true, .started = true, .running = true}));
  EXPECT_FALSE(MayBeBeingRemoved(killed, {.known = true, .started = true, .oom = true}));
}

TEST(EndingTest, TheStatusShowsWhichProgramMayBeMissing) {
  const ProgramSpec command = ReadGiven(R"({"command": ["python9", "a.py"]})");
  const ProgramSpec run = ReadGiven(R"({"run": "python9 a.py"})");
  const std::vector<std::string> shell = {"/bin/sh", "-c", "python9 a.py"};
  for (const int code : {1, 126, 127}) {
    EXPECT_EQ(WordInDoubt(Exited(code), command, command.command), "python9") << code;
  }
  EXPECT_EQ(WordInDoubt(Exited(1), run, shell), "/bin/sh");
  EXPECT_EQ(WordInDoubt(Exited(127), run, shell), "python9");
  for (const int status : {Exited(2), Exited(125), SIGKILL}) {
    EXPECT_EQ(WordInDoubt(status, command, command.command), "") << status;
  }
}

TEST(EndingTest, AMissingProgramIsNamedWithItsImageAndAFix) {
  ProgramSpec spec = ReadGiven(R"({"command": ["python9"], "environment": {"image": "me/x:1"}})");
  EXPECT_EQ(MissingEnding(spec, "python9", "/usr/bin:/bin").cause, "config");
  EXPECT_EQ(MissingEnding(spec, "python9", "/usr/bin:/bin").message,
            "environment.image: me/x:1 has no program 'python9' in its PATH, /usr/bin:/bin; name "
            "one that it has, or choose an image with it");
  EXPECT_EQ(MissingEnding(spec, "/opt/x", "/bin").message,
            "environment.image: me/x:1 has no program '/opt/x'; name one that it has, or choose an "
            "image with it");
  spec.kept = "out";
  EXPECT_NE(MissingEnding(spec, "python3", "/bin").message.find("checkpoint.folder needs it"),
            std::string::npos);
  const ProgramSpec run = ReadGiven(R"({"run": "a", "environment": {"image": "me/x:1"}})");
  EXPECT_NE(MissingEnding(run, "/bin/sh", "/bin").message.find("command, which needs no shell"),
            std::string::npos);
}

TEST(EndingTest, AWordWithAValueInItIsNotThatOfEachTrial) {
  ProgramSpec spec = ReadGiven(R"({"command": ["python9"]})");
  spec.parameters = {{"seed", 1234567}, {"lr", 0.001}};
  EXPECT_TRUE(IsOfEachTrial(spec, "python9"));
  spec.parameters["version"] = 9;
  EXPECT_FALSE(IsOfEachTrial(spec, "python9"));
  spec.parameters = {{"program", "python9"}};
  EXPECT_FALSE(IsOfEachTrial(spec, "python9"));
}

TEST(EndingTest, TheStatusDecidesUnlessTheProgramWasStopped) {
  EXPECT_EQ(EndingOf(Exited(0), StopRequest::kNone, Oom::kNone).cause, "finished");
  EXPECT_EQ(EndingOf(Exited(3), StopRequest::kNone, Oom::kNone).message,
            "the program exited with status 3");
  EXPECT_EQ(EndingOf(Exited(126), StopRequest::kNone, Oom::kNone).message,
            "the program exited with status 126 (it may not be executed: chmod +x, or name its "
            "interpreter)");
  EXPECT_EQ(EndingOf(Exited(139), StopRequest::kNone, Oom::kNone).message,
            "the program exited with status 139 (as a shell says that SIGSEGV ended what it ran)");
  EXPECT_EQ(EndingOf(Exited(255), StopRequest::kNone, Oom::kNone).message,
            "the program exited with status 255");
  EXPECT_NE(EndingOf(Exited(127), StopRequest::kNone, Oom::kNone).message.find("carriage return"),
            std::string::npos);
  EXPECT_EQ(EndingOf(SIGTERM, StopRequest::kNone, Oom::kNone).message,
            "the program was ended by signal 15 (SIGTERM)");
  EXPECT_EQ(EndingOf(SIGSEGV, StopRequest::kNone, Oom::kKilledSome).cause, "trainer_crash");
  for (const int status : {SIGTERM, Exited(0), Exited(1)}) {
    EXPECT_EQ(EndingOf(status, StopRequest::kSave, Oom::kNone).cause, "cancelled");
    EXPECT_EQ(EndingOf(status, StopRequest::kLeave, Oom::kNone).cause, "cancelled");
  }
}

TEST(EndingTest, OutOfMemoryIsDistinguishedFromOtherKills) {
  EXPECT_EQ(EndingOf(SIGKILL, StopRequest::kNone, Oom::kKilledSome).cause, "oom");
  EXPECT_EQ(EndingOf(Exited(137), StopRequest::kNone, Oom::kKilledSome).cause, "oom")
      << "of a shell";
  EXPECT_EQ(EndingOf(SIGKILL, StopRequest::kNone, Oom::kNone).cause, "trainer_crash");
  EXPECT_EQ(EndingOf(Exited(1), StopRequest::kNone, Oom::kKilledSome).cause, "trainer_crash");
}

TEST(GivenTest, AnExperimentMaySetNoneOfTheVariablesThatTheWorkerDecides) {
  LaunchContext context;
  context.cuda = true;
  context.store_address = "host:1";
  context.resume_folder = "/storage/7/3/a1/step-5";
  const auto environment =
      EnvironmentOf(SecondOfTwoHosts(), ReadGiven(R"({"run": "true"})"), context, {});
  ASSERT_TRUE(environment.ok()) << environment.status();
  for (const auto& [name, value] : *environment) {
    const bool the_persons = name == "OMP_NUM_THREADS" || name.starts_with("PYTHON");
    EXPECT_NE(IsVariableOfWorker(name), the_persons) << name;
  }
}

}  // namespace
}  // namespace dt::program
