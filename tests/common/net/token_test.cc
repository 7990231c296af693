// token_test.cc: the file that holds a token, and the messages about a bad one.
#include "common/net/token.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "tests/testing/temp_folder.h"

namespace dt {
namespace {

TEST(TokenTest, AFileWithOneLineHoldsAToken) {
  const testing::TempFolder folder;
  const std::string token = "dtr_" + std::string(64, 'a');
  std::ofstream(folder / "t") << token << "\n";
  const auto read = ReadTokenFile("--token-file", folder / "t");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, token);
}

TEST(TokenTest, AnInvalidTokenIsRefusedWithItsFilesNameAndNotShown) {
  const testing::TempFolder folder;
  for (const std::string text : {"", "secret", "dtr_short", "dtr_AAAA"}) {
    std::ofstream(folder / "t") << text;
    const absl::Status status = ReadTokenFile("--token-file", folder / "t").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status));
    EXPECT_NE(status.message().find(folder / "t"), absl::string_view::npos);
    EXPECT_EQ(status.message().find("secret"), absl::string_view::npos);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ReadTokenFile("--token-file", folder / "none").status()));
}

}  // namespace
}  // namespace dt
