// contexts_test.cc: which coordinator a command uses, and the file that stores contexts.
#include "cli/remote/contexts.h"

#include <filesystem>
#include <map>

#include "common/file_lock.h"
#include "gtest/gtest.h"
#include "tests/testing/await.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

bool Wait(absl::Duration duration) {
  testing::Await([] { return false; }, absl::ToChronoMilliseconds(duration));
  return true;
}

class ContextsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    environment_["XDG_CONFIG_HOME"] = folder_.path();
    ASSERT_TRUE(ChangeContexts(Path(), Wait, [](Contexts& contexts) {
                  contexts.Put({"local", "127.0.0.1:1111", {}});
                  contexts.Put({"lab", "lab.example:7600", {"/l/ca", "/l/cert", "/l/key"}});
                  contexts.current = "lab";
                  return absl::OkStatus();
                }).ok());
  }
  std::string Path() const { return ContextsPath(Read()); }
  Variables Read() const {
    return [this](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? "" : found->second;
    };
  }
  // Returns "ADDRESS CERTIFICATE CONTEXT", or the error.
  std::string Choose(const CoordinatorFlags& flags) const {
    const auto chosen = ChooseCoordinator(flags, Read());
    if (!chosen.ok()) return std::string(chosen.status().message());
    return chosen->address + " " + chosen->tls.cert + " " + chosen->context;
  }

  testing::TempFolder folder_;
  std::map<std::string, std::string> environment_;
};

TEST_F(ContextsTest, FlagsOverruleTheEnvironmentWhichOverrulesTheCurrentContext) {
  EXPECT_EQ(Choose({}), "lab.example:7600 /l/cert lab");
  environment_["DTCTL_CONTEXT"] = "local";
  EXPECT_EQ(Choose({}), "127.0.0.1:1111  local");
  environment_["DTCTL_ADDRESS"] = "127.0.0.1:2222";
  EXPECT_EQ(Choose({}), "127.0.0.1:2222  ");
  EXPECT_EQ(Choose({"", "lab", {}}), "lab.example:7600 /l/cert lab");
  EXPECT_EQ(Choose({"127.0.0.1:3333", "", {}}), "127.0.0.1:3333  ");
}

TEST_F(ContextsTest, CertificatesComeFromTheEnvironmentToo) {
  environment_["DTCTL_TLS_CERT"] = "/e/cert";
  EXPECT_EQ(Choose({"far.example:1", "", {}}), "far.example:1 /e/cert ");
  EXPECT_EQ(Choose({"far.example:1", "", {"", "/f/cert", ""}}), "far.example:1 /f/cert ");
  EXPECT_EQ(Choose({"", "lab", {}}), "lab.example:7600 /l/cert lab") << "it was named";
  EXPECT_EQ(Choose({"127.0.0.1:9", "lab", {}}), "127.0.0.1:9 /l/cert ") << "through a tunnel";
}

TEST_F(ContextsTest, WithoutAFileItIsThisMachine) {
  environment_["XDG_CONFIG_HOME"] = folder_ / "none";
  EXPECT_EQ(Choose({}), "127.0.0.1:7600  ");
  environment_.clear();
  EXPECT_EQ(Choose({}), "127.0.0.1:7600  ");
}

TEST_F(ContextsTest, AnUnknownContextIsNamedWithThoseThereAre) {
  const std::string said = Choose({"", "labb", {}});
  EXPECT_NE(said.find("no context 'labb'"), std::string::npos) << said;
  EXPECT_NE(said.find("local, lab"), std::string::npos) << said;
}

TEST_F(ContextsTest, ADamagedFileIsNamedWithTheLineAndHindersNoAddress) {
  folder_.Write("dtrain/config.yaml", "contexts:\n  lab: [\n");
  EXPECT_NE(Choose({}).find("config.yaml: line 3"), std::string::npos) << Choose({});
  EXPECT_EQ(Choose({"127.0.0.1:3333", "", {}}), "127.0.0.1:3333  ");
  for (const char* text : {"[]", "currant: x", "contexts: {a: {adress: b}}", "contexts: {a: {}}",
                           "contexts: {'a b': {address: x}}", "contexts: {a: {address: [1]}}",
                           "contexts: {a: {address: x, tls_ca: \"b\\r\"}}"}) {
    EXPECT_EQ(ParseContexts(text, "f").status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(ContextsTest, AWrittenFileReadsBackTheSameWithAnyText) {
  Contexts contexts;
  contexts.current = "true";
  contexts.Put({"true", "host: # \"'\\ \t:1", {"/a b/ca", "~", "yes"}});
  const auto back = ParseContexts(ContextsText(contexts), "f");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->current, "true");
  ASSERT_EQ(back->list.size(), 1u);
  EXPECT_EQ(back->list[0].address, contexts.list[0].address);
  EXPECT_EQ(back->list[0].tls.cert, "~");
}

TEST_F(ContextsTest, ALinkedFileStaysALink) {
  namespace fs = std::filesystem;
  fs::create_directories(folder_ / "kept");
  fs::rename(Path(), folder_ / "kept/dtrain.yaml");
  fs::create_symlink("../kept/link.yaml", Path());
  fs::create_symlink("dtrain.yaml", folder_ / "kept/link.yaml");
  const auto add = [](Contexts& contexts) {
    contexts.Put({"new", "127.0.0.1:2222", {}});
    return absl::OkStatus();
  };
  ASSERT_TRUE(ChangeContexts(Path(), Wait, add).ok());
  EXPECT_TRUE(fs::is_symlink(Path()));
  EXPECT_TRUE(fs::is_symlink(folder_ / "kept/link.yaml"));
  EXPECT_EQ(ReadContexts(folder_ / "kept/dtrain.yaml")->list.size(), 3u);

  fs::remove(folder_ / "kept/dtrain.yaml");
  ASSERT_TRUE(ChangeContexts(Path(), Wait, add).ok()) << "to a file that is not there yet";
  EXPECT_EQ(ReadContexts(folder_ / "kept/dtrain.yaml")->list.size(), 1u);

  fs::create_symlink("dtrain.yaml", folder_ / "kept/dtrain.yaml.new");
  fs::rename(folder_ / "kept/dtrain.yaml.new", folder_ / "kept/dtrain.yaml");
  EXPECT_EQ(ChangeContexts(Path(), Wait, add).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ContextsTest, AWriterWaitsForAnotherOneAndTheWaitCanBeInterrupted) {
  const auto held = LockFile(Path() + ".lock");
  ASSERT_TRUE(held.ok());
  int looks = 0;
  const absl::Status status = ChangeContexts(
      Path(), [&looks](absl::Duration) { return ++looks < 3; },
      [](Contexts&) { return absl::InternalError("not its turn"); });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  EXPECT_EQ(looks, 3);
}

TEST_F(ContextsTest, RemovingTheCurrentOneLeavesNone) {
  ASSERT_TRUE(ChangeContexts(Path(), Wait, [](Contexts& contexts) {
                EXPECT_TRUE(contexts.Remove("lab"));
                EXPECT_FALSE(contexts.Remove("lab"));
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(ReadContexts(Path())->current, "");
  EXPECT_EQ(Choose({}), "127.0.0.1:7600  ");
}

}  // namespace
}  // namespace dt::cli
