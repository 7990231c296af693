// lookup_test.cc: the file that a command's first word names, and the message about a script that
// does not start.
#include "worker/program/lookup.h"

#include <sys/stat.h>

#include <fstream>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt::program {
namespace {

TEST(LookupTest, AProgramIsFoundInTheFirstFolderOfPathThatHasIt) {
  const testing::TempFolder folder;
  for (const char* name : {"a/tool", "b/tool"}) {
    folder.Write(name, "#!/bin/sh\n");
    ASSERT_EQ(chmod((folder / name).c_str(), 0755), 0);
  }
  const std::string path = absl::StrCat(folder / "b", ":", folder / "a");
  EXPECT_EQ(*FindProgram("tool", {{"PATH", path}}), folder / "b/tool");
  ASSERT_EQ(chmod((folder / "b/tool").c_str(), 0644), 0);
  EXPECT_EQ(*FindProgram("tool", {{"PATH", path}}), folder / "a/tool") << "it may not be run";
  EXPECT_EQ(FindProgram("other", {{"PATH", path}}).status().code(), kConfigError);
}

TEST(LookupTest, AScriptThatDoesNotStartIsExplained) {
  const testing::TempFolder folder;
  const auto hint = [&folder](const std::string& text) {
    std::ofstream(folder / "a", std::ios::binary) << text;
    return HintAtScript(folder / "a");
  };
  EXPECT_NE(hint("#!/bin/sh\r\nexit\r\n").find("ends with a carriage return"), std::string::npos);
  EXPECT_NE(hint("#!/no/python3 -u\n").find("'/no/python3 -u', which must be"), std::string::npos);
  EXPECT_NE(hint("#!/no").find("'/no', which"), std::string::npos);
  for (const char* text : {"", "#", "exit 0\n"}) {
    EXPECT_NE(hint(text).find("such as #!/bin/sh"), std::string::npos) << text;
  }
  EXPECT_EQ(hint("\x7f"
                 "ELF of another machine"),
            "");
  EXPECT_EQ(HintAtScript(folder / "absent"), "");
  EXPECT_EQ(HintAtScript(folder.path()), "");
}

}  // namespace
}  // namespace dt::program
