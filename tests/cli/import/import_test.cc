// import_test.cc: twelve files of other tools, and ours that are made of them.
// DTRAIN_BLESS=1 writes the folder expected/.
#include "cli/import/import.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spec/file/experiment_file.h"

namespace dt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TextOfFile(const std::string& text) {
  const auto imported = Import(text, "file.yaml");
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return "";
  EXPECT_TRUE(imported->problems.empty())
      << imported->text << spec::RenderDiagnostics(imported->problems);
  return imported->text;
}

TEST(ImportTest, EachFileBecomesAValidFileOfOurs) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(FOLDER "/files")) {
    const std::string name = entry.path().filename().string();
    const auto imported = Import(Contents(entry.path()), name);
    ASSERT_TRUE(imported.ok()) << name << imported.status();
    EXPECT_TRUE(imported->problems.empty())
        << imported->text << spec::RenderDiagnostics(imported->problems);
    std::string expected = imported->text;
    for (const std::string& warning : imported->warnings)
      expected += "# warning: " + warning + "\n";
    const fs::path path = fs::path(FOLDER "/expected") / name;
    if (std::getenv("DTRAIN_BLESS") != nullptr) std::ofstream(path) << expected;
    EXPECT_EQ(Contents(path), expected) << name;
    ++files;
  }
  EXPECT_EQ(files, 12u);
}

TEST(ImportTest, ATextThatIsNoNumberStaysAText) {
  const std::string text = TextOfFile(
      "method: random\nrun_cap: 3\nprogram: go\nparameters:\n"
      "  a: {values: [\"1\", two, 3]}\n  b: {value: null}\n  c/d: {value: {x: 1}}\n"
      "  e: {values: [[1, 2], [3, 4]]}\n  f: {min: 2, max: 2}\n");
  EXPECT_THAT(text,
              HasSubstr("a: [\"1\", \"two\", \"3\"]  # values of several kinds are texts here\n"));
  EXPECT_THAT(text, HasSubstr("b: \"None\"\n"));
  EXPECT_THAT(text, HasSubstr("c_d: \"{x: 1}\"  # there: c/d\n"));
  EXPECT_THAT(text, HasSubstr("e: [[1, 2], [3, 4]]\n"));
  EXPECT_THAT(text, HasSubstr("f: 2\n"));
  EXPECT_THAT(text, HasSubstr("command: [\"./go\", \"${args}\"]\n"));
}

TEST(ImportTest, ASearchWithoutAnythingThatVariesIsOneTrial) {
  EXPECT_THAT(TextOfFile("method: bayes\nrun_cap: 3\nparameters: {a: {value: 1}}\n"),
              HasSubstr("method: grid\n"));
}

TEST(ImportTest, AFileOfNoKnownToolIsRefused) {
  for (const char* text : {"", "[1]", "a: 1", "a: {b: 1}", "a: &x 1\nb: *x", "{"}) {
    const auto imported = Import(text, "f.yaml");
    EXPECT_FALSE(imported.ok()) << text;
    EXPECT_THAT(std::string(imported.status().message()), HasSubstr("f.yaml")) << text;
  }
}

TEST(ImportTest, ACommentCannotEndItsLine) {
  const std::string text = TextOfFile(
      "method: grid\nparameters: {a: {values: [1, 2]}}\nproject: \"x\\ncommand: [rm]\"\n");
  EXPECT_THAT(text, Not(HasSubstr("\ncommand: [rm]")));
}

}  // namespace
}  // namespace dt::cli
