// code_command_test.cc: how dtctl packs and sends a folder of code, and its messages.
#include <filesystem>

#include "cli/commands/code.h"
#include "cli/commands/script_note.h"
#include "common/limits.h"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class CodeCommandTest : public CommandTest {
 protected:
  // Sends as `dtctl submit` does.
  absl::Status Send(const pack::PackedFolder& packed) {
    std::ostringstream out, err;
    Terminal terminal;
    terminal.out = &out;
    terminal.err = &err;
    terminal.environment = [](const std::string&) { return std::string(); };
    Session session(terminal, interrupt_,
                    {absl::Milliseconds(1), absl::Milliseconds(1), absl::Milliseconds(1)});
    session.options().client = ClientOptions{control_.address(), {}};
    const auto client = session.Connect();
    return client.ok() ? SendCode(session, **client, packed) : client.status();
  }

  testing::TempFolder folder_;
};

TEST_F(CodeCommandTest, TheFolderIsPackedRelativeToTheFile) {
  folder_.Write("sweeps/grid.yaml", "");
  folder_.Write("src/train.py", "print(1)");
  v1::ExperimentSpec spec;
  EXPECT_FALSE(PackCode(folder_ / "sweeps/grid.yaml", spec)->has_value());
  EXPECT_FALSE(spec.has_code());
  spec.mutable_base()->set_code("../src");
  const auto packed = PackCode(folder_ / "sweeps/grid.yaml", spec);
  ASSERT_TRUE(packed.ok()) << packed.status();
  ASSERT_TRUE(packed->has_value());
  EXPECT_EQ(spec.code().digest(), (*packed)->digest);
  EXPECT_EQ(spec.code().bytes(), (*packed)->bytes.size());
  EXPECT_EQ(spec.code().files(), 1u);
  spec.mutable_base()->set_code("absent");
  EXPECT_TRUE(Has(std::string(PackCode(folder_ / "sweeps/grid.yaml", spec).status().message()),
                  "is not a folder"));
}

TEST_F(CodeCommandTest, AScriptThatTheFolderLacksIsNamed) {
  folder_.Write("train.py", "print(1)");
  folder_.Write("bin/go.sh", "");
  const auto note = [&](const std::string& run) {
    v1::Spec base;
    base.set_run(run);
    return MissingScriptNote(folder_.path(), base);
  };
  for (const char* run : {"python3 trian.py --lr {lr}", "bash ./bin/run.sh", "./go --x {x}",
                          "torchrun --standalone src/train.py"}) {
    EXPECT_TRUE(Has(note(run), "has no such file")) << run;
  }
  for (const char* run : {"python3 train.py {lr}", "sh bin/go.sh", "./bin/go.sh", "python3 -m a.py",
                          "cd sub && python3 a.py", "python3 /opt/a.py", "python3 {script}.py",
                          "python3 -c 'open(\"a.py\")'", "DIR=x python3 $DIR/a.py", "train a b"}) {
    EXPECT_EQ(note(run), "") << run;
  }
  v1::Spec base;
  for (const char* word : {"python3", "my train.py"}) base.add_command(word);
  EXPECT_TRUE(Has(MissingScriptNote(folder_.path(), base), "command names my train.py"));
  base.set_workdir("bin");
  EXPECT_EQ(MissingScriptNote(folder_.path(), base), "") << "it starts elsewhere";
  folder_.Write("sweep.yaml",
                "version: 1\nname: s\nrun: python3 trian.py {x}\ncode: .\n"
                "search: {metric: loss}\nparameters: {x: [1, 2]}\n");
  const Ran ran = RunAsWritten({"validate", folder_ / "sweep.yaml"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Has(ran.err, "run names trian.py")) << ran.err;
}

TEST_F(CodeCommandTest, AScriptThatDoesNotTravelIsNamed) {
  const std::string head = "version: 1\nname: s\nsearch: {metric: loss}\nparameters: {x: [1]}\n";
  const auto note = [&](const std::string& rest) {
    folder_.Write("sweep.yaml", head + rest);
    const Ran ran = RunAsWritten({"validate", folder_ / "sweep.yaml"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Has(ran.err, "names train.py, and no code travels to the workers: add code: .");
  };
  EXPECT_TRUE(note("command: [python3, train.py, \"{x}\"]\n"));
  EXPECT_TRUE(note("run: python3 train.py {x}\n"));
  EXPECT_FALSE(note("command: [python3, /opt/train.py, \"{x}\"]\n"));
  EXPECT_FALSE(note("command: [python3, train.py, \"{x}\"]\nworkdir: /opt\n"));
}

TEST_F(CodeCommandTest, WarnsOfAnActiveEnvironmentThatWorkersLack) {
  folder_.Write("venv/bin/python3", "");
  const std::string venv = folder_ / "venv";
  const auto note = [](const std::string& prefix, const std::string& run) {
    v1::Spec base;
    base.set_run(run);
    return InterpreterNote(prefix, base);
  };
  EXPECT_TRUE(Has(note(venv, "python3 a.py"), "write run: " + venv + "/bin/python3 …"));
  for (const char* run : {"python a.py", "/usr/bin/python3 a.py", "./python3", "torchrun a.py",
                          "cd x && python3 a.py", "PATH=/v python3 a.py", ""}) {
    EXPECT_EQ(note(venv, run), "") << run;
  }
  EXPECT_EQ(note("", "python3 a.py"), "") << "no environment is active";
  v1::Spec base;
  for (const char* word : {"python3", "a.py"}) base.add_command(word);
  EXPECT_TRUE(Has(InterpreterNote(venv, base), "write command: [" + venv + "/bin/python3, …]"));
  base.mutable_resources()->add_env()->set_key("PATH");
  EXPECT_EQ(InterpreterNote(venv, base), "") << "the file says where to look";

  const std::string file = folder_.Write("s.yaml",
                                         "version: 1\nname: s\nrun: python3 -c 'print(1)' {x}\n"
                                         "search: {metric: loss}\nparameters: {x: [1, 2]}\n");
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    EXPECT_FALSE(Has(RunAsWritten({"validate", file}).err, "in their own PATH"));
    environment_[variable] = venv;
    const Ran ran = RunAsWritten({"validate", file});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(Has(ran.err, venv + "/bin/python3")) << ran.err;
    environment_.erase(variable);
  }
}

TEST_F(CodeCommandTest, AProgramThatLooksForItsParametersIsNotWarnedOf) {
  const std::string file = folder_.Write("grid.yaml", R"(version: 1
name: grid
code: src
command: [python3, train.py]
parameters: {lr: [0.1, 0.2]}
)");
  const auto warned = [&](const std::string& script) {
    folder_.Write("src/train.py", script);
    const Ran ran = Run({"validate", file});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return Has(ran.err, "nothing in command names lr");
  };
  EXPECT_TRUE(warned("print(1)\n"));
  EXPECT_TRUE(warned("import dtrain\nprint(model.parameters())\n"));
  EXPECT_FALSE(warned("import dtrain\nlr = dtrain.parameters()['lr']\n"));
  EXPECT_FALSE(warned("from dtrain import report, parameters\n"));
  EXPECT_FALSE(warned("import os\nos.environ['DTRAIN_PARAMETERS']\n"));
}

TEST_F(CodeCommandTest, NoExampleWarns) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(DTRAIN_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    // Files in public/ need the scripts beside which they are to stand.
    if (entry.path().parent_path().filename() == "public") continue;
    ++files;
    const Ran ran = Run({"validate", entry.path().string()});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_FALSE(Has(ran.err, "warning")) << ran.err;
  }
  EXPECT_GE(files, 20u);
}

TEST_F(CodeCommandTest, CodeGoesInPartsAndOnlyOnce) {
  folder_.Write("table.csv", std::string(2 * limits::kCodePartBytes, ','));
  const auto packed = pack::PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  EXPECT_TRUE(Send(*packed).ok());
  auto world = control_.Snapshot();
  ASSERT_EQ(world.code.size(), 4u) << "a question, and three parts";
  EXPECT_EQ(world.code[0].data(), "");
  std::string bytes;
  for (size_t i = 1; i < world.code.size(); ++i) {
    EXPECT_EQ(world.code[i].part(), i - 1);
    EXPECT_EQ(world.code[i].parts(), 3u);
    bytes += world.code[i].data();
  }
  EXPECT_EQ(bytes, packed->bytes);
  EXPECT_TRUE(Send(*packed).ok());
  EXPECT_EQ(control_.Snapshot().code.size(), 5u) << "known code is asked for alone";
}

TEST_F(CodeCommandTest, ACoordinatorThatForgotPartsGetsAllAgain) {
  folder_.Write("table.csv", std::string(limits::kCodePartBytes, ','));
  const auto packed = pack::PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  control_.SetCallHook([](std::string_view method, int count, FakeControl::World& world) {
    if (method != "PutCode" || count != 3) return grpc::Status::OK;
    world.code.clear();
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "restarting");
  });
  const absl::Status sent = Send(*packed);
  EXPECT_TRUE(sent.ok()) << sent;
}

TEST_F(CodeCommandTest, ARefusalIsShownAndNothingIsSubmitted) {
  folder_.Write("a.py", "1");
  const auto packed = pack::PackFolder(folder_.path());
  ASSERT_TRUE(packed.ok());
  control_.SetCallHook([](std::string_view, int, FakeControl::World&) {
    return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "delete experiments");
  });
  EXPECT_TRUE(absl::IsResourceExhausted(Send(*packed)));
}

}  // namespace
}  // namespace dt::cli
