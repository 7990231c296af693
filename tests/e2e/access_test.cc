// access_test.cc: dtcoord --auth=tokens, dtctl and dtworker as a person has them.
#include <sys/wait.h>

#include <string>
#include <vector>

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
  // The status line's code of a GET of the page's port.
  std::string Get(const std::string& path, const std::string& header) {
    const std::string text = testing::Slurp(folder_ / "addresses");
    const size_t colon = text.find("0.0.0.0:") + 8;
    const std::string port = text.substr(colon, text.find('"', colon) - colon);
    const std::string n = folder_ / "get.out";
    ChildProcess child(
        {PYTHON, "-c",
         "import sys, http.client\n"
         "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20)\n"
         "h = {'Authorization': sys.argv[3]} if sys.argv[3] else {}\n"
         "c.request('GET', sys.argv[2], headers=h)\n"
         "open(sys.argv[4], 'w').write(str(c.getresponse().status))",
         port, path, header, n},
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

TEST_F(AccessTest, ThePageOffThisHostWantsATokenToo) {
  MakeToken("observer", "eve", "eve.token");
  MakeToken("worker", "host", "host.token");
  const std::string eve = testing::Slurp(folder_ / "eve.token").substr(0, 68);
  const std::string host = testing::Slurp(folder_ / "host.token").substr(0, 68);
  for (const std::string path : {"/", "/metrics", "/api/v1/status"}) {
    EXPECT_EQ(Get(path, ""), "401") << path;
    EXPECT_EQ(Get(path, "Bearer " + eve), "200") << path;
    EXPECT_EQ(Get(path, "Bearer " + host), "403") << path;
  }
  EXPECT_EQ(Get("/healthz", ""), "200");
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
