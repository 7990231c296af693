// container_test.cc: the arguments that run a program in a container.
#include "worker/environments/container.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace dt::environments {
namespace {

ContainerRun RunWith(const std::string& runtime) {
  ContainerRun run;
  run.image = {.path = "/usr/bin/" + runtime, .reference = "x@sha256:1"};
  run.name = "dtrain-7";
  run.mounts = {{"/scratch", true}, {"/data", false}};
  run.folder = "/scratch/files";
  run.user = 1000;
  run.group = 100;
  run.variables = {{"A", "1"}, {"JSON", "{\"a\": 1}"}, {"LINES", "1\n2"}};
  run.variables_file = "/scratch/variables";
  run.words = {"python3", "train.py", "--lr=1"};
  return run;
}

std::string Line(const ContainerRun& run) {
  const auto words = RunArguments(run);
  EXPECT_TRUE(words.ok()) << words.status();
  return words.ok() ? absl::StrJoin(*words, "|") : "";
}

bool Has(const std::string& line, const std::string& part) {
  return ("|" + line + "|").find("|" + part + "|") != std::string::npos;
}

TEST(ContainerTest, PodmanAndDockerTakeTheProgramBehindTheImage) {
  for (const char* runtime : {"podman", "docker"}) {
    const std::string line = Line(RunWith(runtime));
    for (const char* part :
         {"run|--name=dtrain-7", "--pull=never", "--init", "--network=host", "--ipc=host",
          "--mount=type=bind,source=/scratch,destination=/scratch",
          "--mount=type=bind,source=/data,destination=/data,readonly", "--workdir=/scratch/files",
          "--env-file=/scratch/variables", "--entrypoint=python3|x@sha256:1|train.py|--lr=1"}) {
      EXPECT_TRUE(Has(line, part)) << part << " in " << line;
    }
  }
}

TEST(ContainerTest, TheProgramHasTheWorkersUser) {
  EXPECT_TRUE(Has(Line(RunWith("podman")), "--userns=keep-id"));
  EXPECT_TRUE(Has(Line(RunWith("docker")), "--user=1000:100"));
  ContainerRun root = RunWith("podman");
  root.user = root.group = 0;
  EXPECT_TRUE(Has(Line(root), "--user=0:0"));
}

TEST(ContainerTest, GpusAreGivenAsTheRuntimeKnowsThem) {
  for (const auto& [runtime, all, some] :
       {std::tuple("podman", "--device=nvidia.com/gpu=all",
                   "--device=nvidia.com/gpu=GPU-a|--device=nvidia.com/gpu=GPU-b"),
        std::tuple("docker", "--gpus=all", "--gpus=\"device=GPU-a,GPU-b\""),
        std::tuple("apptainer", "--nv", "--nv")}) {
    ContainerRun run = RunWith(runtime);
    run.gpus = {"GPU-a", "GPU-b"};
    EXPECT_EQ(Line(run).find("gpu"), std::string::npos) << "on a CPU slot";
    run.cuda = true;
    EXPECT_TRUE(Has(Line(run), some)) << Line(run);
    run.gpus.clear();
    EXPECT_TRUE(Has(Line(run), all)) << Line(run);
  }
}

TEST(ContainerTest, AFolderWithCommasAndColonsIsOneMount) {
  ContainerRun run = RunWith("podman");
  run.mounts = {{"/a,b:c\"d", true}};
  EXPECT_TRUE(
      Has(Line(run), "--mount=type=bind,\"source=/a,b:c\"\"d\",\"destination=/a,b:c\"\"d\""));
  for (const char* folder : {"relative", "", "/a\nb"}) {
    run.mounts = {{folder, true}};
    EXPECT_EQ(RunArguments(run).status().code(), kConfigError) << folder;
  }
}

TEST(ContainerTest, EachVariableIsInTheFileOrInTheArguments) {
  Environment all = {{"PLAIN", "a b=c"},  {"EMPTY", ""},    {"LINES", "1\n2"},
                     {"QUOTED", "\"x\""}, {"SPACED", " x"}, {"HASH", "#x"},
                     {"ODD NAME", "1"},   {"-x", "1"},      {"DOLLAR", "$HOME"}};
  EXPECT_EQ(FileOf(all), "EMPTY=\nPLAIN=a b=c\n");
  ContainerRun run = RunWith("docker");
  run.variables = all;
  const std::string line = Line(run);
  for (const char* part : {"--env=LINES=1\n2", "--env=QUOTED=\"x\"", "--env=SPACED= x",
                           "--env=ODD NAME=1", "--env=-x=1", "--env=DOLLAR=$HOME"}) {
    EXPECT_TRUE(Has(line, part)) << part;
  }
  EXPECT_EQ(line.find("PLAIN"), std::string::npos);
}

TEST(ContainerTest, ApptainerTakesVariablesFromItsOwn) {
  const ContainerRun run = RunWith("apptainer");
  const std::string line = Line(run);
  EXPECT_EQ(line,
            "--quiet|exec|--cleanenv|--no-home|--mount|type=bind,source=/scratch,"
            "destination=/scratch|--mount|type=bind,source=/data,destination=/data,readonly|--pwd|"
            "/scratch/files|x@sha256:1|python3|train.py|--lr=1");
  const Environment variables = RuntimeVariables(run, {{"PATH", "/bin"}});
  EXPECT_EQ(variables.at("PATH"), "/bin");
  EXPECT_EQ(variables.at("APPTAINERENV_LINES"), "1\n2");
  EXPECT_EQ(RuntimeVariables(RunWith("podman"), {{"PATH", "/bin"}}),
            (Environment{{"PATH", "/bin"}}));
}

TEST(ContainerTest, PodmanAloneKeepsTheReportsDescriptor) {
  for (const auto& [runtime, keeps] : {std::pair("podman", true), std::pair("docker", false)}) {
    EXPECT_EQ(Has(Line(RunWith(runtime)), "--preserve-fds=1"), keeps) << runtime;
  }
}

TEST(ContainerTest, ItsEndIsReadAsTheRuntimesWriteIt) {
  EXPECT_FALSE(ReadContainerEnd("").known);
  EXPECT_FALSE(ReadContainerEnd("").gone) << "a runtime that failed says nothing";
  EXPECT_FALSE(ReadContainerEnd("started=0001-01-01T00:00:00Z running=false oom=false\n").started);
  EXPECT_FALSE(
      ReadContainerEnd("started=0001-01-01 00:00:00 +0000 UTC running=false oom=false\n").started);
  const ContainerEnd end =
      ReadContainerEnd("started=2026-11-28 08:00:17.1 +0000 UTC running=false oom=true\n");
  EXPECT_TRUE(end.known && end.started && end.oom);
  EXPECT_FALSE(end.running || end.gone);
  EXPECT_TRUE(ReadContainerEnd("time=\"2026-11-28\" level=warning msg=\"no such container y\"\n"
                               "started=2026-11-28T08:00:17Z running=true oom=false\n")
                  .running);
  for (const char* words : {"Error: inspecting object: no such container dtrain-7\n",
                            "\nError response from daemon: No such container: dtrain-7\n"}) {
    EXPECT_TRUE(ReadContainerEnd(words).gone) << words;
  }
  EXPECT_FALSE(ReadContainerEnd("Error: database is locked\n").gone);
}

TEST(ContainerTest, ItsPathIsThatOfItsProgram) {
  const std::string state = "started=2026-11-28T08:00:17Z running=false oom=false\n";
  EXPECT_EQ(ReadContainerEnd(state + "env A=1\nenv PATH=/opt/bin:/bin\n").path, "/opt/bin:/bin");
  EXPECT_EQ(ReadContainerEnd(state).path,
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

TEST(ContainerTest, AProgramIsLookedForAsExecDoes) {
  EXPECT_EQ(FilesOfWord("python3", "/opt/bin:/bin", "/code"),
            (std::vector<std::string>{"/opt/bin/python3", "/bin/python3"}));
  EXPECT_EQ(FilesOfWord("/opt/x", "/bin", "/code"), (std::vector<std::string>{"/opt/x"}));
  EXPECT_EQ(FilesOfWord("./x", "/bin", "/code"), (std::vector<std::string>{"/code/./x"}));
  EXPECT_EQ(FilesOfWord("x", "bin::/bin", "/code"),
            (std::vector<std::string>{"/code/bin/x", "/code//x", "/bin/x"}));
  std::string many = "/0";
  for (int i = 1; i < 40; ++i) many += ":/" + std::to_string(i);
  EXPECT_TRUE(FilesOfWord("x", many, "/code").empty());
}

TEST(ContainerTest, AFileIsAbsentOnlyIfTheRuntimeSaysSo) {
  EXPECT_EQ(absl::StrJoin(CopyArguments("dtrain-7", "/bin/x"), " "), "cp dtrain-7:/bin/x -");
  EXPECT_EQ(ReadPresence(true, ""), Presence::kThere);
  for (const char* words :
       {"Error: \"/bin/x\" could not be found on container dtrain-7: no such file or directory",
        "Error response from daemon: Could not find the file /bin/x in container dtrain-7"}) {
    EXPECT_EQ(ReadPresence(false, words), Presence::kAbsent) << words;
  }
  EXPECT_EQ(ReadPresence(false, "Error: database is locked"), Presence::kUnknown);
  EXPECT_EQ(ReadPresence(false, ""), Presence::kUnknown);
}

}  // namespace
}  // namespace dt::environments
