// ca_command_test.cc: dtctl ca, and the files that it writes.
#include <sys/stat.h>

#include "common/net/credentials.h"
#include "tests/cli/commands/fixture.h"
#include "tests/testing/temp_folder.h"

namespace dt::cli {
namespace {

class CaCommandTest : public CommandTest {
 protected:
  Ran Ca(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "ca");
    arguments.insert(arguments.end(), {"--dir", folder_ / "tls"});
    return RunAsWritten(arguments);
  }
  std::string File(const std::string& name) const { return folder_ / ("tls/" + name); }
  static int ModeOf(const std::string& path) {
    struct stat entry {};
    return stat(path.c_str(), &entry) == 0 ? static_cast<int>(entry.st_mode & 0777) : -1;
  }
  testing::TempFolder folder_;
};

TEST_F(CaCommandTest, APairIsOfOneKeyAndForItsUserAlone) {
  ASSERT_EQ(Ca({"init"}).code, 0);
  const Ran issued = Ca({"issue", "desk", "--role", "submitter"});
  ASSERT_EQ(issued.code, 0) << issued.err;
  EXPECT_EQ(issued.out, File("desk.crt") + "\n" + File("desk.key") + "\n");
  for (const char* name : {"ca.crt", "ca.key", "desk.crt", "desk.key"}) {
    EXPECT_EQ(ModeOf(File(name)), 0600) << name;
  }
  EXPECT_EQ(ModeOf(folder_ / "tls"), 0700);
  const TlsFiles files{File("ca.crt"), File("desk.crt"), File("desk.key")};
  EXPECT_TRUE(MakeChannelCredentials(files, "alpha.example:7600").ok());
}

TEST_F(CaCommandTest, NothingIsReplaced) {
  ASSERT_EQ(Ca({"init"}).code, 0);
  const std::string key = testing::Slurp(File("ca.key"));
  const Ran again = Ca({"init"});
  EXPECT_EQ(again.code, 6) << again.err;
  EXPECT_TRUE(Has(again.err, "ca.key")) << again.err;
  EXPECT_EQ(testing::Slurp(File("ca.key")), key);
  EXPECT_EQ(Ca({"issue", "ca", "--role", "admin"}).code, 6) << "the authority's own files";
  folder_.Write("tls/desk.crt", "mine");
  EXPECT_EQ(Ca({"issue", "desk", "--role", "admin"}).code, 6);
  EXPECT_EQ(ModeOf(File("desk.key")), -1) << "half a pair is none";
  EXPECT_EQ(testing::Slurp(File("desk.crt")), "mine");
}

TEST_F(CaCommandTest, AMissingFileIsNamed) {
  const Ran none = Ca({"issue", "desk", "--role", "admin"});
  EXPECT_EQ(none.code, 4) << none.err;
  EXPECT_TRUE(Has(none.err, "dtctl ca init")) << none.err;
  ASSERT_EQ(Ca({"init"}).code, 0);
  const Ran unreachable = Ca({"issue", "coordinator", "--role", "coordinator"});
  EXPECT_EQ(unreachable.code, 2);
  EXPECT_TRUE(Has(unreachable.err, "--host")) << unreachable.err;
  EXPECT_EQ(Ca({"issue", "desk", "--role", "root"}).code, 2);
  EXPECT_EQ(Ca({"issue", "../desk", "--role", "admin"}).code, 2);
}

TEST_F(CaCommandTest, NoKeyIsPrinted) {
  const Ran made = Ca({"init", "-o", "json"});
  EXPECT_TRUE(Has(made.out, "\"expires_time\"")) << made.out;
  EXPECT_FALSE(Has(made.out + made.err, "PRIVATE KEY"));
}

}  // namespace
}  // namespace dt::cli
