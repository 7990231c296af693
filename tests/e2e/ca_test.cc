// ca_test.cc: coordinator, worker and dtctl with certificates from 'dtctl ca', and with another
// authority's.
#include <sys/wait.h>

#include <string>
#include <vector>

#include "tests/e2e/fleet_fixture.h"

namespace dt {
namespace {

using testing::ChildProcess;

constexpr char kGridFile[] =
    "version: 1\nname: mine\ndata: {train: step_ms=1, val: step_ms=1}\n"
    "resources: {device: cpu}\ntrain: {max_steps: 20}\n";

class CaTest : public ::testing::Test {
 protected:
  struct Ran {
    int code = -1;
    std::string out, err;
  };
  Ran Ctl(const std::vector<std::string>& arguments) {
    const std::string n = std::to_string(++runs_);
    std::string command = DTCTL;
    for (const std::string& word : arguments) command += " '" + word + "'";
    command += " > " + (folder_ / (n + ".out")) + " 2> " + (folder_ / (n + ".err"));
    ChildProcess child({"/bin/sh", "-c", command}, folder_ / (n + ".log"));
    const auto status = child.AwaitExit();
    return {status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1,
            testing::Slurp(folder_ / (n + ".out")), testing::Slurp(folder_ / (n + ".err"))};
  }
  void MakeAuthority(const std::string& folder) {
    const Ran made = Ctl({"ca", "init", "--dir", folder_ / folder});
    ASSERT_EQ(made.code, 0) << made.err;
  }
  void Issue(const std::string& folder, const std::string& name, const std::string& role,
             const std::vector<std::string>& further = {}) {
    std::vector<std::string> command = {"ca",    "issue",         name, "--role", role,
                                        "--dir", folder_ / folder};
    command.insert(command.end(), further.begin(), further.end());
    const Ran made = Ctl(command);
    ASSERT_EQ(made.code, 0) << made.err;
  }
  // Returns the TLS flags of a program that trusts the lab's authority and shows this pair.
  std::vector<std::string> Tls(const std::string& folder, const std::string& name) const {
    return {"--tls-ca",   folder_ / "tls/ca.crt",
            "--tls-cert", folder_ / (folder + "/" + name + ".crt"),
            "--tls-key",  folder_ / (folder + "/" + name + ".key")};
  }
  static std::vector<std::string> With(std::vector<std::string> command,
                                       const std::vector<std::string>& further) {
    command.insert(command.end(), further.begin(), further.end());
    return command;
  }
  Ran CtlAs(const std::string& folder, const std::string& name,
            const std::vector<std::string>& arguments) {
    return Ctl(With(With({"--address", address_}, Tls(folder, name)), arguments));
  }
  ChildProcess Worker(const std::string& folder, const std::string& pair, const std::string& name) {
    return ChildProcess(With({DTWORKER, "--coordinator", address_, "--slot", "cpu", "--name", name,
                              "--storage", folder_ / "storage", "--run-dir",
                              folder_ / ("run-" + name), "--trainer", FAKE_TRAINER},
                             Tls(folder, pair)),
                        folder_ / (name + ".log"));
  }
  void StartCoordinator() {
    coordinator_ = ChildProcess(
        With({DTCOORD, "--auth=tokens", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0",
              "--state-dir", folder_ / "state", "--addresses-file", folder_ / "addresses"},
             Tls("tls", "coordinator")),
        folder_ / "dtcoord.log");
    ASSERT_TRUE(testing::Await([&] { return !testing::Slurp(folder_ / "addresses").empty(); }))
        << testing::Slurp(folder_ / "dtcoord.log");
    const std::string text = testing::Slurp(folder_ / "addresses");
    const size_t at = text.find("127.0.0.1:", text.find("\"grpc\""));
    ASSERT_NE(at, std::string::npos) << text;
    address_ = text.substr(at, text.find('"', at) - at);
  }

  testing::TempFolder folder_;
  ChildProcess coordinator_;
  std::string address_;
  int runs_ = 0;
};

TEST_F(CaTest, AFleetRunsWithIssuedCertificatesWhichNameTheirUsers) {
  MakeAuthority("tls");
  Issue("tls", "coordinator", "coordinator", {"--host", "127.0.0.1"});
  Issue("tls", "gpu07", "worker");
  Issue("tls", "ann", "submitter");
  Issue("tls", "eve", "observer");
  StartCoordinator();
  std::ofstream(folder_ / "mine.yaml") << kGridFile;

  const Ran submitted = CtlAs("tls", "ann", {"submit", folder_ / "mine.yaml", "--id-only"});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  const ChildProcess posing = Worker("tls", "gpu07", "other");
  const ChildProcess worker = Worker("tls", "gpu07", "gpu07");
  const Ran waited = CtlAs("tls", "ann", {"wait", "1", "--timeout", "60s"});
  EXPECT_EQ(waited.code, 0) << waited.err << testing::Slurp(folder_ / "gpu07.log");
  EXPECT_EQ(CtlAs("tls", "eve", {"get", "workers", "-o", "name"}).out, "gpu07\n")
      << "one certificate, one worker's name";
  EXPECT_TRUE(testing::Await([&] {
    return testing::Slurp(folder_ / "other.log").find("is for gpu07") != std::string::npos;
  })) << testing::Slurp(folder_ / "other.log");
  EXPECT_EQ(CtlAs("tls", "eve", {"pause", "1"}).code, 5) << "an observer";
}

TEST_F(CaTest, AnotherAuthorityAndAClientThatPosesAsTheCoordinatorAreRefused) {
  MakeAuthority("tls");
  MakeAuthority("foreign");
  Issue("tls", "coordinator", "coordinator", {"--host", "127.0.0.1"});
  Issue("tls", "ann", "admin");
  Issue("foreign", "ann", "admin");
  StartCoordinator();
  EXPECT_EQ(CtlAs("tls", "ann", {"get", "experiments"}).code, 0);
  EXPECT_EQ(CtlAs("foreign", "ann", {"get", "experiments"}).code, 3);
  EXPECT_EQ(CtlAs("tls", "coordinator", {"get", "experiments"}).code, 3)
      << "a stolen coordinator's pair gives no access";
}

}  // namespace
}  // namespace dt
