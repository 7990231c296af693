// access_test.cc: dtcoord --auth=tokens, dtctl and dtworker as a person has them.
#include <sys/stat.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "coordinator/access/rights.h"
#include "coordinator/api/call.h"
#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

using testing::ChildProcess;

class AccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    coordinator_ = ChildProcess(
        {DTCOORD, "--auth=tokens", "--listen", address_, "--http", "0.0.0.0:0", "--http-clear-text",
         "--state-dir", folder_ / "state", "--addresses-file", folder_ / "addresses"},
        folder_ / "dtcoord.log");
    ASSERT_TRUE(testing::Await([&] { return !testing::Slurp(folder_ / "addresses").empty(); }))
        << testing::Slurp(folder_ / "dtcoord.log");
  }
  struct Ran {
    int code = -1;
    std::string out, err;
  };
  // dtctl with the token that the file of this name in the folder holds; "": none.
  Ran Ctl(const std::string& token, std::vector<std::string> arguments) {
    const std::string n = std::to_string(++runs_);
    std::string command = std::string(DTCTL) + " --address " + address_;
    if (!token.empty()) command += " --token-file " + (folder_ / token);
    for (const std::string& word : arguments) command += " '" + word + "'";
    command += " > " + (folder_ / (n + ".out")) + " 2> " + (folder_ / (n + ".err"));
    ChildProcess child({"/bin/sh", "-c", command}, folder_ / (n + ".log"));
    const auto status = child.AwaitExit();
    return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1,
            testing::Slurp(folder_ / (n + ".out")), testing::Slurp(folder_ / (n + ".err"))};
  }
  void MakeToken(const std::string& role, const std::string& name, const std::string& file) {
    const Ran made = Ctl("state/admin.token", {"token", "create", "--role", role, "--name", name});
    ASSERT_EQ(made.code, 0) << made.err;
    std::ofstream(folder_ / file) << made.out;
  }
  // The status line's codes of a GET of each path on the page's port: "200 401 ".
  std::string Get(const std::vector<std::string>& paths, const std::string& header) {
    const std::string text = testing::Slurp(folder_ / "addresses");
    const size_t colon = text.find("0.0.0.0:") + 8;
    const std::string port = text.substr(colon, text.find('"', colon) - colon);
    const std::string n = folder_ / "get.out";
    ChildProcess child(
        {PYTHON, "-c",
         "import sys, http.client\n"
         "h = {'Authorization': sys.argv[3]} if sys.argv[3] else {}\n"
         "codes = ''\n"
         "for path in sys.argv[2].split():\n"
         "    c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)\n"
         "    c.request('GET', path, headers=h)\n"
         "    codes += str(c.getresponse().status) + ' '\n"
         "open(sys.argv[4], 'w').write(codes)",
         port, absl::StrJoin(paths, " "), header, n},
        folder_ / "get.log");
    child.AwaitExit();
    return testing::Slurp(n);
  }

  testing::TempFolder folder_;
  const std::string address_ = "unix:" + (folder_ / "socket");
  ChildProcess coordinator_;
  int runs_ = 0;
};

constexpr char kFile[] =
    "version: 1\nname: mine\ndata: {train: step_ms=1, val: step_ms=1}\n"
    "resources: {device: cpu}\ntrain: {max_steps: 20}\n";

TEST_F(AccessTest, EachRoleDoesWhatItMayAndTheRecordSaysWhoDidIt) {
  const Ran stranger = Ctl("", {"get", "experiments"});
  EXPECT_EQ(stranger.code, 5) << stranger.err;
  EXPECT_NE(stranger.err.find("--token-file"), std::string::npos) << stranger.err;

  MakeToken("submitter", "ann", "ann.token");
  MakeToken("submitter", "bob", "bob.token");
  MakeToken("observer", "eve", "eve.token");
  MakeToken("worker", "host", "host.token");
  std::ofstream(folder_ / "mine.yaml") << kFile;
  const Ran submitted = Ctl("ann.token", {"submit", folder_ / "mine.yaml", "--id-only"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;

  EXPECT_EQ(Ctl("eve.token", {"get", "experiments"}).code, 0);
  EXPECT_EQ(Ctl("eve.token", {"pause", "1"}).code, 5);
  const Ran others = Ctl("bob.token", {"pause", "1"});
  EXPECT_EQ(others.code, 5) << others.err;
  EXPECT_NE(others.err.find("was submitted by ann"), std::string::npos) << others.err;
  EXPECT_EQ(Ctl("ann.token", {"worker", "drain", "x"}).code, 5);
  EXPECT_EQ(Ctl("ann.token", {"token", "list"}).code, 5);

  // A worker with a token of its name trains; one of another name is kept out.
  const auto worker = [&](const std::string& name) {
    return ChildProcess({DTWORKER, "--coordinator", address_, "--slot", "cpu", "--name", name,
                         "--trainer", FAKE_TRAINER, "--storage", folder_ / "storage", "--run-dir",
                         folder_ / name, "--token-file", folder_ / "host.token"},
                        folder_ / (name + ".log"));
  };
  ChildProcess wrong = worker("other");
  ChildProcess right = worker("host");
  const Ran waited = Ctl("ann.token", {"wait", "1", "--timeout", "60s"});
  EXPECT_EQ(waited.code, 0) << waited.err << testing::Slurp(folder_ / "host.log");
  EXPECT_EQ(Ctl("eve.token", {"get", "workers", "-o", "name"}).out, "host\n");

  const Ran record = Ctl("state/admin.token", {"get", "audit", "-o", "csv"});
  EXPECT_EQ(record.code, 0) << record.err;
  EXPECT_NE(record.out.find("ann,submitter,Submit,experiment 1,OK"), std::string::npos)
      << record.out;
  EXPECT_NE(record.out.find("bob,submitter,Change,experiment 1,PERMISSION_DENIED"),
            std::string::npos)
      << record.out;
  EXPECT_NE(record.out.find("admin,admin,CreateToken,"), std::string::npos) << record.out;

  EXPECT_EQ(Ctl("state/admin.token", {"token", "revoke", "ann"}).code, 0);
  EXPECT_EQ(Ctl("ann.token", {"get", "experiments"}).code, 5);
  // What was shown is in no log.
  const std::string secret = testing::Slurp(folder_ / "ann.token").substr(4, 64);
  ASSERT_EQ(secret.size(), 64u);
  for (const std::string log : {"dtcoord.log", "host.log", "other.log"}) {
    EXPECT_EQ(testing::Slurp(folder_ / log).find(secret), std::string::npos) << log;
  }
}

TEST_F(AccessTest, AWorkerThatIsInvitedJoinsOnceAndAKillBeforeItsFileIsWrittenDoesNotStrandIt) {
  MakeToken("joiner", "host", "host.join");
  const auto worker = [&](const std::string& file) {
    return ChildProcess(
        {DTWORKER, "--coordinator", address_, "--slot", "cpu", "--name", "host", "--trainer",
         FAKE_TRAINER, "--storage", folder_ / "storage", "--run-dir", folder_ / "run",
         "--join-token-file", folder_ / "host.join", "--token-file", folder_ / file},
        folder_ / (file + ".log"));
  };
  const auto connected = [&] {
    return testing::Await([&] {
      return Ctl("state/admin.token", {"get", "workers", "-o", "csv"}).out.find("host,idle") !=
             std::string::npos;
    });
  };
  ChildProcess first = worker("host.token");
  ASSERT_TRUE(connected()) << testing::Slurp(folder_ / "host.token.log");
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "host.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(stat((folder_ / "host.token.joining").c_str(), &info), 0);
  first.KillAndReap();
  const std::string token = testing::Slurp(folder_ / "host.token");

  // What a kill between the exchange and the file leaves on disk.
  ASSERT_EQ(rename((folder_ / "host.token").c_str(), (folder_ / "host.token.joining").c_str()), 0);
  ChildProcess second = worker("host.token");
  ASSERT_TRUE(testing::Await([&] { return testing::Slurp(folder_ / "host.token") == token; }))
      << testing::Slurp(folder_ / "host.token.log");

  ChildProcess thief = worker("thief.token");
  const auto status = thief.AwaitExit();
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  EXPECT_NE(testing::Slurp(folder_ / "thief.token.log").find("used already"), std::string::npos)
      << testing::Slurp(folder_ / "thief.token.log");
}

TEST_F(AccessTest, ThePageOffThisHostWantsATokenTooEachPathForEachRoleOfTheTable) {
  std::vector<std::string> paths = {"/", "/metrics", "/page/main.js", "/nothing"};
  for (const ApiRoute& route : ApiRoutes()) {
    paths.push_back(absl::StrReplaceAll(route.path, {{"{experiment}", "1"}, {"{trial}", "1"}}));
  }
  const auto all = [&paths](const std::string& code) {
    std::string text;
    for (size_t i = 0; i < paths.size(); ++i) text += code + " ";
    return text;
  };
  EXPECT_EQ(Get(paths, ""), all("401"));
  EXPECT_EQ(Get(paths, "Bearer dtr_" + std::string(64, '0')), all("401"));
  const Right& right = *FindRight("GET");
  for (const Role role : kRoles) {
    const std::string word(RoleWord(role));
    MakeToken(word, "of-" + word, word + ".token");
    const std::string token = testing::Slurp(folder_ / (word + ".token")).substr(0, 68);
    const std::string codes = Get(paths, "Bearer " + token);
    if (ReachOf(right, role) == Reach::kNone) {
      EXPECT_EQ(codes, all("403")) << word;
    } else {
      EXPECT_EQ(codes.find("401"), std::string::npos) << word << ": " << codes;
      EXPECT_EQ(codes.find("403"), std::string::npos) << word << ": " << codes;
      EXPECT_EQ(codes.substr(0, 8), "200 200 ") << word;
    }
  }
  EXPECT_EQ(Get({"/healthz", "/readyz"}, ""), "200 200 ");
}

TEST_F(AccessTest, AnAdminWhoLostTheTokenMakesAnotherOnceTheCoordinatorIsStopped) {
  ChildProcess early({DTCOORD, "admin-token", folder_ / "state"}, folder_ / "early.log");
  EXPECT_NE(early.AwaitExit().value_or(0), 0) << "its coordinator runs";
  coordinator_.Signal(SIGTERM);
  ASSERT_TRUE(coordinator_.AwaitExit());
  const std::string lost = testing::Slurp(folder_ / "state/admin.token");
  ChildProcess late({DTCOORD, "admin-token", folder_ / "state"}, folder_ / "late.log");
  EXPECT_EQ(late.AwaitExit().value_or(-1), 0) << testing::Slurp(folder_ / "late.log");
  EXPECT_NE(testing::Slurp(folder_ / "state/admin.token"), lost);
}

}  // namespace
}  // namespace dt
