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

TEST_F(ContextsTest, ADamagedFileIsNamedWithItsPlaceAndTheFixAndHindersNoAddress) {
  folder_.Write("dtrain/contexts.json", "{\n  \"contexts\": {\"lab\": [\n");
  const std::string said = Choose({});
  EXPECT_NE(said.find("dtrain/contexts.json: line 3, column 1: "), std::string::npos) << said;
  EXPECT_NE(said.find("; mend it, or move it away and name coordinators anew"), std::string::npos);
  EXPECT_EQ(Choose({"127.0.0.1:3333", "", {}}), "127.0.0.1:3333  ");
  for (const char* text :
       {"", "[]", R"({"currant": "x"})", R"({"contexts": []})", R"({"contexts": {"a": "b"}})",
        R"({"contexts": {"a": {"adress": "b"}}})", R"({"contexts": {"a": {}}})",
        R"({"contexts": {"a b": {"address": "x"}}})", R"({"contexts": {"a": {"address": [1]}}})",
        R"({"current": 1})", R"({"current": 1e999})"}) {
    EXPECT_EQ(ParseContexts(text, "f").status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST_F(ContextsTest, AFolderThatCannotBeReadIsNoAbsenceOfContexts) {
  std::filesystem::create_symlink("loop", folder_ / "loop");
  environment_["XDG_CONFIG_HOME"] = folder_ / "loop";
  const std::string said = Choose({});
  EXPECT_NE(said.find("loop/dtrain/contexts.json cannot be read: "), std::string::npos) << said;
  EXPECT_EQ(Choose({"127.0.0.1:3333", "", {}}), "127.0.0.1:3333  ");
  folder_.Write("file", "");
  environment_["XDG_CONFIG_HOME"] = folder_ / "file";
  EXPECT_EQ(Choose({}), "127.0.0.1:7600  ") << "a file in place of the folder holds no contexts";
}

TEST_F(ContextsTest, OnlyTheUserCanReadTheFile) {
  EXPECT_EQ(std::filesystem::status(Path()).permissions() & std::filesystem::perms::mask,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

// The text is a file of 0.2.
constexpr char kOldFile[] =
    "# Coordinators that dtctl knows by name; 'dtctl context' changes this.\n"
    "current: lab\n"
    "contexts:\n"
    "  local:\n"
    "    address: 127.0.0.1:41234\n"
    "  lab:\n"
    "    address: \"alpha.example:7600\"\n"
    "    tls_cert: '/etc/it''s mine.crt'\n"
    "    token_file: ~/ann.token\n";

TEST_F(ContextsTest, AFileOfAnOlderReleaseIsConvertedOnceAndStays) {
  std::filesystem::remove(Path());
  folder_.Write("dtrain/config.yaml", kOldFile);
  EXPECT_EQ(Choose({"", "local", {}}), "127.0.0.1:41234  local");
  ASSERT_TRUE(std::filesystem::exists(Path()));
  EXPECT_EQ(std::filesystem::status(Path()).permissions() & std::filesystem::perms::mask,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto converted = ReadContexts(Path());
  ASSERT_TRUE(converted.ok()) << converted.status();
  EXPECT_EQ(converted->current, "lab");
  ASSERT_EQ(converted->list.size(), 2u);
  EXPECT_EQ(converted->list[1].tls.cert, "/etc/it's mine.crt");
  EXPECT_EQ(converted->list[1].token_file, "~/ann.token");

  folder_.Write("dtrain/config.yaml", "contexts:\n  lab: [\n");
  EXPECT_EQ(ReadContexts(Path())->list.size(), 2u) << "the old file is not read again";
}

TEST_F(ContextsTest, AChangeBeginsWithTheContextsOfAnOlderRelease) {
  std::filesystem::remove(Path());
  folder_.Write("dtrain/config.yaml", kOldFile);
  ASSERT_TRUE(ChangeContexts(Path(), Wait, [](Contexts& contexts) {
                contexts.Put({"new", "127.0.0.1:2222", {}});
                return absl::OkStatus();
              }).ok());
  EXPECT_EQ(ReadContexts(Path())->list.size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "dtrain/config.yaml"));
}

TEST_F(ContextsTest, ContextsOfAnOlderReleaseAreUsedWhereTheNewFileCannotBeWritten) {
  std::filesystem::remove(Path());
  folder_.Write("dtrain/config.yaml", kOldFile);
  const auto held = LockFile(Path() + ".lock");
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(Choose({"", "local", {}}), "127.0.0.1:41234  local");
  EXPECT_FALSE(std::filesystem::exists(Path()));
}

TEST_F(ContextsTest, ADamagedFileOfAnOlderReleaseIsNamedWithTheLine) {
  std::filesystem::remove(Path());
  folder_.Write("dtrain/config.yaml", "contexts:\n  lab: [\n");
  EXPECT_NE(Choose({}).find("dtrain/config.yaml: line 3"), std::string::npos) << Choose({});
  EXPECT_FALSE(std::filesystem::exists(Path()));
  for (const char* text :
       {"[]", "currant: x", "contexts: {a: {adress: b}}", "contexts: {a: {}}",
        "contexts: {'a b': {address: x}}", "contexts: {a: {address: [1]}}",
        "contexts: {a: {address: {b: {c: d}}}}", "contexts: [a]", "contexts: &a {b: *a}"}) {
    EXPECT_EQ(ParseOldContexts(text, "f").status().code(), absl::StatusCode::kInvalidArgument)
        << text;
  }
  for (const char* text : {"", "# nothing\n", "contexts: {}", "contexts:\ncurrent:\n"}) {
    const auto contexts = ParseOldContexts(text, "f");
    ASSERT_TRUE(contexts.ok()) << contexts.status();
    EXPECT_TRUE(contexts->list.empty() && contexts->current.empty()) << text;
  }
}

TEST_F(ContextsTest, AliasesInAFileOfAnOlderReleaseAreBounded) {
  std::string text = "current: &k {" + std::string("a: b");
  for (int i = 0; i < 200; ++i) text += ", a" + std::to_string(i) + ": b";
  text += "}\nx: &l {a: *k";
  for (int i = 0; i < 200; ++i) text += ", a" + std::to_string(i) + ": *k";
  EXPECT_NE(ParseOldContexts(text + "}\n", "f").status().message().find("too many entries"),
            std::string::npos);
}

TEST_F(ContextsTest, AWrittenFileReadsBackTheSameWithAnyText) {
  Contexts contexts;
  contexts.current = "true";
  contexts.Put({"true", "host: # \"'\\ \t\r:1", {"/a b/ca", "~", "yes"}});
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
  fs::rename(Path(), folder_ / "kept/dtrain.json");
  fs::create_symlink("../kept/link.json", Path());
  fs::create_symlink("dtrain.json", folder_ / "kept/link.json");
  const auto add = [](Contexts& contexts) {
    contexts.Put({"new", "127.0.0.1:2222", {}});
    return absl::OkStatus();
  };
  ASSERT_TRUE(ChangeContexts(Path(), Wait, add).ok());
  EXPECT_TRUE(fs::is_symlink(Path()));
  EXPECT_TRUE(fs::is_symlink(folder_ / "kept/link.json"));
  EXPECT_EQ(ReadContexts(folder_ / "kept/dtrain.json")->list.size(), 3u);

  fs::remove(folder_ / "kept/dtrain.json");
  ASSERT_TRUE(ChangeContexts(Path(), Wait, add).ok()) << "to a file that is not there yet";
  EXPECT_EQ(ReadContexts(folder_ / "kept/dtrain.json")->list.size(), 1u);

  fs::create_symlink("dtrain.json", folder_ / "kept/dtrain.json.new");
  fs::rename(folder_ / "kept/dtrain.json.new", folder_ / "kept/dtrain.json");
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
