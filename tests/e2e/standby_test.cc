// standby_test.cc: two coordinators with one database. The leader is killed, or stopped and
// continued, and nothing that was acknowledged is lost.
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/store/check_tables.h"
#include "coordinator/store/postgres.h"
#include "tests/e2e/fleet_fixture.h"
#include "tests/testing/commit_holder.h"
#include "tests/testing/postgres_server.h"

namespace dt {
namespace {

using std::chrono::steady_clock;
using testing::PostgresServer;

PostgresServer& TheServer() {
  static PostgresServer server;
  return server;
}

// Returns the status and body of a GET: "503 not ready: …".
std::string Get(const std::string& address, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.find(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  std::string text;
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    char block[4096];
    for (ssize_t got = 0; (got = recv(fd, block, sizeof(block), 0)) > 0;) text.append(block, got);
  }
  close(fd);
  const size_t body = text.find("\r\n\r\n");
  return text.size() < 12 || body == std::string::npos ? ""
                                                       : text.substr(9, 4) + text.substr(body + 4);
}

// Two coordinators, and a worker that knows both.
class StandbyTest : public FleetTest {
 protected:
  void SetUp() override {
    if (PostgresServer::Missing()) GTEST_SKIP() << PostgresServer::kMissing;
    TheServer().Empty();
    StartOne(cluster_, LeadersConninfo());
    ASSERT_TRUE(AwaitServing(cluster_));
    StartOne(other_, TheServer().conninfo());
  }
  void StartOne(Cluster& one, const std::string& conninfo) {
    const std::string file = one.folder().Write("database", conninfo + "\n");
    chmod(file.c_str(), 0600);
    one.SetCoordinatorFlags({"--database-file", file, "--code-dir", cluster_.folder() / "code"});
    one.StartCoordinator();
  }
  // Returns the way in which the first leader reaches the database.
  virtual std::string LeadersConninfo() { return TheServer().conninfo(); }
  ~StandbyTest() override {
    if (HasFailure()) {
      std::cerr << "---- the other's log:\n"
                << testing::Slurp(other_.folder() / "coordinator.log") << "\n";
    }
  }
  std::string BothAddresses() const { return cluster_.address() + "," + other_.address(); }
  void StartWorkers(int count) {
    for (int i = 0; i < count; ++i) {
      cluster_.StartWorker("w" + std::to_string(i), {"--coordinator", BothAddresses()});
    }
    ASSERT_TRUE(cluster_.AwaitWorkers(count));
  }
  static grpc::Status TryStatus(Cluster& cluster) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
    v1::GetStatusResponse response;
    return cluster.control().GetStatus(&context, {}, &response);
  }
  static bool AwaitServing(Cluster& cluster) {
    return Await([&] { return TryStatus(cluster).ok(); });
  }
  // Expects that the standby serves, and prints how long after the leader's end.
  static void ExpectTakeover(Cluster& standby) {
    const auto start = steady_clock::now();
    EXPECT_TRUE(AwaitServing(standby));
    const auto took = steady_clock::now() - start;
    std::cerr << "taken over after "
              << std::chrono::duration_cast<std::chrono::milliseconds>(took).count() << " ms\n";
  }
  static void ExpectWholeJournal() {
    const auto connection = Postgres::Connect(TheServer().conninfo(), Postgres::IfLost::kFail);
    ASSERT_TRUE(connection.ok()) << connection.status();
    // The leader writes meanwhile, so read one snapshot, as `dtcoord check` does.
    ASSERT_TRUE((*connection)->BeginReading().ok());
    const auto report = CheckTables(**connection, Thoroughness::kEverything);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->damage.empty()) << report->damage.front();
    EXPECT_GT(report->records, 0);
  }
  // Kills the leader again and again during submissions and a trial. Each time the other
  // coordinator takes over, and the killed one comes back as the standby.
  void KillLeaders(int kills);

  Cluster other_{FakePrograms()};
};

TEST_F(StandbyTest, AStandbyReportsThatItWaitsAndForWhichLeader) {
  const std::string ready = Get(other_.http_address(), "/readyz");
  EXPECT_EQ(ready.substr(0, 4), "503 ") << ready;
  EXPECT_NE(ready.find("standby: '"), std::string::npos) << ready;
  EXPECT_NE(ready.find("process " + std::to_string(cluster_.coordinator().pid())),
            std::string::npos)
      << ready;
  EXPECT_EQ(Get(other_.http_address(), "/healthz"), "200 ok\n");
  EXPECT_EQ(Get(other_.http_address(), "/metrics").substr(0, 4), "200 ");
  EXPECT_EQ(Get(cluster_.http_address(), "/readyz"), "200 ok\n");
  const grpc::Status refused = TryStatus(other_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(refused.error_message().find("is a standby"), std::string::npos)
      << refused.error_message();
  // The standby and the leader each stop cleanly; the leader announces it at once.
  cluster_.coordinator().Signal(SIGTERM);
  ExpectTakeover(other_);
  EXPECT_EQ(cluster_.coordinator().AwaitExit(), 0);
  // Calls are answered a moment before it is announced.
  EXPECT_TRUE(Await([&] { return Get(other_.http_address(), "/readyz") == "200 ok\n"; }));
  cluster_.StartCoordinator();
  cluster_.coordinator().Signal(SIGTERM);
  EXPECT_EQ(cluster_.coordinator().AwaitExit(), 0);
}

void StandbyTest::KillLeaders(int kills) {
  StartWorkers(2);
  const int steps = 1500 * kills;
  const v1::ExperimentSpec trial = Training(steps, "step_ms=1 checkpoint_every=500").spec();
  const uint64_t sweep = cluster_.Submit(trial, "sweep");
  ASSERT_TRUE(cluster_.AwaitStep(sweep, 1, 20));
  std::map<std::string, uint64_t> acknowledged;
  Cluster* leader = &cluster_;
  Cluster* standby = &other_;
  for (int round = 0; round < kills; ++round) {
    // Submissions follow each other without a pause, so that the kill comes inside a commit or
    // between it and the reply.
    std::atomic<bool> first = false;
    auto submitting = std::async(std::launch::async, [&, round] {
      for (int i = 0; i < 200; ++i) {
        v1::SubmitRequest request;
        request.set_request_id("r" + std::to_string(round) + "-" + std::to_string(i));
        request.set_file_name("test.yaml");
        *request.mutable_spec() = Training(3).spec();
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
        v1::SubmitResponse response;
        if (!leader->control().Submit(&context, request, &response).ok()) return;
        acknowledged[request.request_id()] = response.experiment();
        first = true;
      }
    });
    ASSERT_TRUE(Await([&] { return first.load(); }));
    submitting.wait_for(std::chrono::milliseconds(37 * round));
    leader->KillCoordinator();
    ExpectTakeover(*standby);
    submitting.wait();
    leader->StartCoordinator();  // it is the standby now
    std::swap(leader, standby);
  }
  EXPECT_FALSE(acknowledged.empty());
  for (const auto& [request, experiment] : acknowledged) {
    EXPECT_EQ(leader->Submit(Training(3).spec(), request), experiment) << "the same request";
  }
  EXPECT_EQ(leader->Submit(trial, "sweep"), sweep);
  for (const auto& [request, experiment] : acknowledged) {
    ASSERT_TRUE(leader->AwaitEnd(experiment));
    const auto rows = leader->ValidRows(experiment);
    EXPECT_EQ(rows.size(), 3u) << request;
  }
  ASSERT_TRUE(leader->AwaitTrial(sweep, 1, v1::TRIAL_FINISHED, std::chrono::seconds(120)));
  const auto rows = leader->ValidRows(sweep);
  EXPECT_EQ(rows.size(), static_cast<size_t>(steps));
  for (const auto& [step, count] : rows) EXPECT_EQ(count, 1) << "step " << step;
  EXPECT_EQ(leader->Trial(sweep).attempts(), 1u) << "its gang went on meanwhile";
  ExpectWholeJournal();
}

TEST_F(StandbyTest, AKilledLeaderLosesNothingThatWasAcknowledged) { KillLeaders(2); }

// Under the label `long`, like the restart of the database.
TEST_F(StandbyTest, TwentyKilledLeadersLoseNothingThatWasAcknowledged) { KillLeaders(20); }

class HeldCommitTest : public StandbyTest {
 protected:
  std::string LeadersConninfo() override {
    holder_.emplace(TheServer().folder());
    return PostgresServer::ConninfoAt(holder_->folder());
  }
  std::optional<testing::CommitHolder> holder_;
};

TEST_F(HeldCommitTest, ALeaderKilledBetweenCommitAndReplyLosesNothingAndTheRequestIsThereOnce) {
  const uint64_t before = cluster_.Submit(Training(3).spec(), "before");
  holder_->HoldNext();
  auto submitting = std::async(std::launch::async, [&] {
    v1::SubmitRequest request;
    request.set_request_id("held");
    request.set_file_name("test.yaml");
    *request.mutable_spec() = Training(3).spec();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + testing::kPatience);
    v1::SubmitResponse response;
    return cluster_.control().Submit(&context, request, &response);
  });
  ASSERT_TRUE(Await([&] { return holder_->held(); })) << "no COMMIT came by";
  cluster_.KillCoordinator();
  ExpectTakeover(other_);
  EXPECT_FALSE(submitting.get().ok()) << "it was never acknowledged";
  EXPECT_EQ(other_.Experiment(before + 1).name(), other_.Experiment(before).name())
      << "it was committed";
  EXPECT_EQ(other_.Submit(Training(3).spec(), "held"), before + 1) << "asked for again";
  EXPECT_EQ(other_.Submit(Training(3).spec(), "after"), before + 2);
  cluster_.StartWorker("w0", {"--coordinator", BothAddresses()});
  EXPECT_TRUE(other_.AwaitEnd(before + 1));
  ExpectWholeJournal();
}

TEST_F(StandbyTest, AStoppedLeaderIsReplacedAndWritesNothingWhenItGoesOn) {
  StartWorkers(1);
  const uint64_t experiment =
      cluster_.Submit(Training(4000, "step_ms=2 checkpoint_every=500").spec());
  ASSERT_TRUE(cluster_.AwaitStep(experiment, 1, 20));
  ASSERT_TRUE(cluster_.coordinator().Pause());
  // The request waits in its socket when it continues.
  auto late = std::async(std::launch::async, [&] {
    v1::SubmitRequest request;
    request.set_request_id("late");
    request.set_file_name("test.yaml");
    *request.mutable_spec() = Training(3).spec();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::SubmitResponse response;
    return cluster_.control().Submit(&context, request, &response);
  });
  ExpectTakeover(other_);
  EXPECT_EQ(TheServer().Ask("SELECT term FROM dtrain.leader"), 2);
  cluster_.coordinator().Signal(SIGCONT);
  const auto ended = cluster_.coordinator().AwaitExit();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(WIFEXITED(*ended) && WEXITSTATUS(*ended) == 1) << *ended;
  EXPECT_FALSE(late.get().ok()) << "this was never acknowledged";
  EXPECT_EQ(other_.Submit(Training(3).spec(), "later"), experiment + 1)
      << "the late one has no number";
  ASSERT_TRUE(other_.AwaitTrial(experiment, 1, v1::TRIAL_FINISHED));
  const auto rows = other_.ValidRows(experiment);
  EXPECT_EQ(rows.size(), 4000u);
  for (const auto& [step, count] : rows) EXPECT_EQ(count, 1) << "step " << step;
  EXPECT_EQ(TheServer().Ask("SELECT term FROM dtrain.leader"), 2);
  ExpectWholeJournal();
}

TEST_F(StandbyTest, DtctlAsksTheLeader) {
  cluster_.Submit(Training(3).spec(), "one");
  const std::string log = cluster_.folder() / "dtctl.log";
  const auto list = [&](const std::string& addresses) {
    testing::ChildProcess dtctl({DTCTL, "--address", addresses, "get", "experiments", "-o", "name"},
                                log);
    return dtctl.AwaitExit();
  };
  const std::string standby_first = other_.address() + "," + cluster_.address();
  EXPECT_EQ(list(standby_first), 0) << testing::Slurp(log);
  EXPECT_NE(list(other_.address()), 0);
  EXPECT_NE(testing::Slurp(log).find("is a standby"), std::string::npos) << testing::Slurp(log);
  // The client waits while the other coordinator takes over.
  cluster_.KillCoordinator();
  EXPECT_EQ(list(standby_first), 0) << testing::Slurp(log);
}

TEST_F(StandbyTest, ARestartOfTheDatabaseEndsTheLeaderAndTheStandbyGoesOnAfterIt) {
  cluster_.Submit(Training(3).spec(), "one");
  TheServer().Stop();
  const auto ended = cluster_.coordinator().AwaitExit();
  ASSERT_TRUE(ended);
  EXPECT_TRUE(WIFEXITED(*ended) && WEXITSTATUS(*ended) == 1) << *ended;
  EXPECT_TRUE(Await([&] {
    return Get(other_.http_address(), "/readyz").find("connecting") != std::string::npos;
  })) << Get(other_.http_address(), "/readyz");
  TheServer().Start();
  ExpectTakeover(other_);
  EXPECT_EQ(other_.Submit(Training(3).spec(), "one"), 1u);
}

}  // namespace
}  // namespace dt
