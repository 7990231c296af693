// access_test.cc: dtcoord --auth=tokens, dtctl and dtworker as users run them.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "coordinator/access/rights.h"
#include "coordinator/api/api.h"
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
  // Runs dtctl with the token in the file of this name in the folder; "": without a token.
  Ran Ctl(const std::string& token, const std::vector<std::string>& arguments) {
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
  // Starts a worker. The names of its log, its folder and its tokens begin with `files`.
  ChildProcess Worker(const std::string& name, const std::string& files,
                      const std::vector<std::string>& further) {
    std::vector<std::string> command = {DTWORKER,
                                        "--coordinator",
                                        address_,
                                        "--slot",
                                        "cpu",
                                        "--name",
                                        name,
                                        "--trainer",
                                        FAKE_TRAINER,
                                        "--storage",
                                        folder_ / "storage",
                                        "--run-dir",
                                        folder_ / ("run-" + files)};
    command.insert(command.end(), further.begin(), further.end());
    return ChildProcess(command, folder_ / (files + ".log"));
  }
  ChildProcess Invited(const std::string& name, const std::string& files) {
    return Worker(name, files,
                  {"--join-token-file", folder_ / (files + ".join"), "--token-file",
                   folder_ / (files + ".token")});
  }
  // Counts the lines of a list that begin with `begin` and contain `part`.
  size_t Count(const std::vector<std::string>& list, const std::string& begin,
               const std::string& part) {
    const std::vector<std::string> lines = absl::StrSplit(Ctl("state/admin.token", list).out, '\n');
    return static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
          return absl::StartsWith(line, begin) && absl::StrContains(line, part);
        }));
  }
  bool AwaitConnected(const std::string& name) {
    return testing::Await([&] {
      return Count({"get", "workers", "-o", "csv"}, name + ",", ",idle,") == 1;
    });
  }
  // Returns the status codes of a GET, or of a POST of `posted`, of each path on the page's port:
  // "200 401 ".
  std::string Get(const std::vector<std::string>& paths, const std::string& header,
                  const std::string& posted = "") {
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
         "    if sys.argv[5]:\n"
         "        h['Content-Type'] = 'application/json'\n"
         "    c.request('POST' if sys.argv[5] else 'GET', path, sys.argv[5] or None, h)\n"
         "    codes += str(c.getresponse().status) + ' '\n"
         "open(sys.argv[4], 'w').write(codes)",
         port, absl::StrJoin(paths, " "), header, n, posted},
        folder_ / "get.log");
    child.AwaitExit();
    return testing::Slurp(n);
  }

  // Expects that the secrets of these files are in no log, and neither in the arguments nor in the
  // environment of the coordinator or of these workers, which other users of the host may see.
  void ExpectKept(const std::vector<std::string>& files, const std::vector<pid_t>& workers) {
    std::vector<std::string> looked_at;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".log") looked_at.push_back(entry.path());
    }
    std::vector<pid_t> processes = workers;
    processes.push_back(coordinator_.pid());
    for (const pid_t pid : processes) {
      const std::string process = "/proc/" + std::to_string(pid);
      EXPECT_FALSE(testing::Slurp(process + "/cmdline").empty()) << "it has ended";
      looked_at.push_back(process + "/cmdline");
      looked_at.push_back(process + "/environ");
    }
    for (const std::string& file : files) {
      const std::string secret = testing::Slurp(folder_ / file).substr(4, 64);
      ASSERT_EQ(secret.size(), 64u) << file;
      for (const std::string& place : looked_at) {
        EXPECT_EQ(testing::Slurp(place).find(secret), std::string::npos)
            << "the secret of " << file << " is in " << place;
      }
    }
  }

  testing::TempFolder folder_;
  const std::string address_ = "unix:" + (folder_ / "socket");
  ChildProcess coordinator_;
  int runs_ = 0;
};

constexpr char kFile[] =
    "version: 1\nname: mine\ndata: {train: step_ms=1, val: step_ms=1}\n"
    "resources: {device: cpu}\ntrain: {max_steps: 20}\n";

TEST_F(AccessTest, EachRoleHasItsRightsAndTheRecordNamesTheUser) {
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

  // A worker trains with a token for its name; one with a token for another name is refused.
  ChildProcess wrong = Worker("other", "other", {"--token-file", folder_ / "host.token"});
  ChildProcess right = Worker("host", "host", {"--token-file", folder_ / "host.token"});
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
  ExpectKept({"ann.token", "bob.token", "eve.token", "host.token", "state/admin.token"},
             {right.pid()});
}

TEST_F(AccessTest, AWorkerThatIsInvitedJoinsOnceAndAKillBeforeItsFileIsWrittenDoesNotStrandIt) {
  MakeToken("joiner", "host", "host.join");
  ChildProcess first = Invited("host", "host");
  ASSERT_TRUE(AwaitConnected("host")) << testing::Slurp(folder_ / "host.log");
  struct stat info {};
  ASSERT_EQ(stat((folder_ / "host.token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(stat((folder_ / "host.token.joining").c_str(), &info), 0);
  first.KillAndReap();
  const std::string token = testing::Slurp(folder_ / "host.token");

  // The state on disk after a kill between the exchange and the writing of the file.
  ASSERT_EQ(rename((folder_ / "host.token").c_str(), (folder_ / "host.token.joining").c_str()), 0);
  ChildProcess second = Invited("host", "host");
  ASSERT_TRUE(testing::Await([&] { return testing::Slurp(folder_ / "host.token") == token; }))
      << testing::Slurp(folder_ / "host.log");

  std::filesystem::copy_file(folder_ / "host.join", folder_ / "thief.join");
  ChildProcess thief = Invited("host", "thief");
  const auto status = thief.AwaitExit();
  ASSERT_TRUE(status && WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  const std::string log = testing::Slurp(folder_ / "thief.log");
  EXPECT_TRUE(absl::StrContains(log, "already used")) << log;
  ExpectKept({"host.join", "host.token", "state/admin.token"}, {second.pid()});
}

TEST_F(AccessTest, AnInvitationThatRanOutLetsNobodyIn) {
  const Ran made = Ctl("state/admin.token", {"token", "create", "--role", "joiner", "--name",
                                             "late", "--expires", "1s"});
  ASSERT_EQ(made.code, 0) << made.err;
  std::ofstream(folder_ / "late.join") << made.out;
  const absl::Time over = absl::Now() + absl::Seconds(1);
  ASSERT_TRUE(testing::Await([&] { return absl::Now() > over; }));
  ChildProcess late = Invited("late", "late");
  const auto status = late.AwaitExit();
  ASSERT_TRUE(status && WIFEXITED(*status)) << testing::Slurp(folder_ / "late.log");
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  const std::string log = testing::Slurp(folder_ / "late.log");
  EXPECT_TRUE(absl::StrContains(log, "has expired")) << log;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "late.token"));
  EXPECT_EQ(Count({"token", "list", "-o", "csv"}, "", ",worker,late,"), 0u);
}

TEST_F(AccessTest, WorkersThatAreKilledInTheMiddleOfJoiningComeBackAndEachHasOneToken) {
  constexpr int kWorkers = 5;
  std::vector<ChildProcess> workers;
  for (int i = 0; i < kWorkers; ++i) {
    const std::string name = "host" + std::to_string(i);
    MakeToken("joiner", name, name + ".join");
    // The first cannot have had an answer; how far the others come is left to chance.
    if (i == 0) {
      ASSERT_TRUE(coordinator_.Pause());
    }
    ChildProcess killed = Invited(name, name);
    const std::string token = folder_ / (name + ".token");
    ASSERT_TRUE(testing::Await([&] {
      return std::filesystem::exists(token + ".joining") || std::filesystem::exists(token);
    })) << testing::Slurp(folder_ / (name + ".log"));
    killed.KillAndReap();
    coordinator_.Signal(SIGCONT);
    workers.push_back(Invited(name, name));
    ASSERT_TRUE(AwaitConnected(name)) << testing::Slurp(folder_ / (name + ".log"));
    EXPECT_FALSE(std::filesystem::exists(token + ".joining"));
  }
  EXPECT_EQ(Count({"token", "list", "-o", "csv"}, "", ",worker,host"), size_t{kWorkers});
  EXPECT_EQ(Count({"token", "list", "-o", "csv"}, "", ",joiner,host"), size_t{kWorkers});
}

TEST_F(AccessTest, AQuotaBoundsItsUserAloneAndAnAdminAloneSetsIt) {
  MakeToken("submitter", "ann", "ann.token");
  MakeToken("worker", "*", "any.token");
  std::ofstream(folder_ / "two.yaml")
      << "version: 1\nname: two\ndata: {train: step_ms=5, val: step_ms=1}\n"
         "parameters: {optimizer.lr: [1.0e-3, 2.0e-3]}\n"
         "search: {metric: val_loss, goal: minimize}\n"
         "resources: {device: cpu}\ntrain: {max_steps: 100000}\n";
  EXPECT_EQ(Ctl("ann.token", {"quota", "set", "--user", "ann", "--slots", "9"}).code, 5);
  const Ran set =
      Ctl("state/admin.token", {"quota", "set", "--user", "ann", "--slots", "1", "-o", "json"});
  ASSERT_EQ(set.code, 0) << set.err;
  std::vector<ChildProcess> workers;
  for (const std::string name : {"w0", "w1", "w2"}) {
    workers.push_back(Worker(name, name, {"--token-file", folder_ / "any.token"}));
    ASSERT_TRUE(AwaitConnected(name)) << testing::Slurp(folder_ / (name + ".log"));
  }
  const auto running = [this](const std::string& experiment) {
    return Count({"get", "trials", experiment, "-o", "csv"}, "", ",running,");
  };
  const Ran submitted = Ctl("ann.token", {"submit", folder_ / "two.yaml", "--id-only"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  ASSERT_TRUE(testing::Await([&] { return running("1") == 1; }));
  const Ran why = Ctl("ann.token", {"explain", "1/2"});
  EXPECT_TRUE(absl::StrContains(why.out, "quota")) << why.out;
  EXPECT_EQ(Count({"quota", "list", "-o", "csv"}, "ann,,1,1,", ""), 1u);
  // The quota binds only ann: another user takes a free slot, though ann's trial waited before.
  ASSERT_EQ(Ctl("state/admin.token", {"submit", folder_ / "two.yaml", "--id-only"}).code, 0);
  ASSERT_TRUE(testing::Await([&] { return running("2") == 2; }));
  EXPECT_EQ(running("1"), 1u);
  ASSERT_EQ(Ctl("state/admin.token", {"cancel", "2"}).code, 0);

  const auto bearer = [this](const std::string& file) {
    return "Bearer " + testing::Slurp(folder_ / file).substr(0, 68);
  };
  const std::string more = R"({"user": "ann", "slots": 2})";
  EXPECT_EQ(Get({"/api/v1/quotas"}, bearer("ann.token"), more), "403 ");
  EXPECT_EQ(running("1"), 1u);
  EXPECT_EQ(Get({"/api/v1/quotas"}, bearer("state/admin.token"), more), "200 ");
  ASSERT_TRUE(testing::Await([&] { return running("1") == 2; }));
  EXPECT_EQ(Get({"/api/v1/quotas"}, bearer("ann.token")), "200 ");
  const Ran record = Ctl("state/admin.token", {"get", "audit", "-o", "csv"});
  EXPECT_TRUE(absl::StrContains(record.out, "admin,admin,SetQuota,quota of user ann,OK"))
      << record.out;
  EXPECT_TRUE(absl::StrContains(record.out, "ann,submitter,SetQuota,")) << record.out;
}

TEST_F(AccessTest, ThePageNeedsATokenFromOtherHostsForEachPathAndRole) {
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

TEST_F(AccessTest, AnAdminWithoutATokenMakesAnotherWhileTheCoordinatorIsStopped) {
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
