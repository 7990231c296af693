// process_test.cc: dttrain as a process: its flags, its lock, its cores, and its exits.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>

#include <cstdio>
#include <fstream>

#include "tests/testing/await.h"
#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

using TrainerProcessTest = AttemptTest;

// An address of this host at which connections never complete, as with a vanished host: its queue
// has room for one connection, and one already waits there.
class DeafAddress {
 public:
  DeafAddress() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    waiting_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_, 0), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(connect(waiting_, reinterpret_cast<sockaddr*>(&address), size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~DeafAddress() {
    close(waiting_);
    close(listener_);
  }
  std::string text() const { return "127.0.0.1:" + std::to_string(port_); }
  bool SomebodyConnects() const {
    char connecting[32];  // the end of the peer's address, and the state SYN_SENT
    std::snprintf(connecting, sizeof(connecting), "0100007F:%04X 02 ", port_);
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
      std::ifstream sockets(table);
      for (std::string line; std::getline(sockets, line);) {
        if (line.find(connecting) != std::string::npos) return true;
      }
    }
    return false;
  }

 private:
  int listener_ = -1;
  int waiting_ = -1;
  uint16_t port_ = 0;
};

TEST_F(TrainerProcessTest, LeavesOnRequestAndWhenItsAgentIsGone) {
  TrainerProcess told;
  told.Send(frames::Exit{});
  const std::optional<int> exited = told.AwaitExit();
  ASSERT_TRUE(exited);
  EXPECT_TRUE(WIFEXITED(*exited) && WEXITSTATUS(*exited) == 0);

  TrainerProcess orphan;
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = "1000000";
  orphan.Send(Start(spec));
  orphan.CloseSocket();
  EXPECT_TRUE(orphan.AwaitExit());
}

TEST_F(TrainerProcessTest, RunsOnlyOnItsGivenCores) {
  cpu_set_t usable;
  ASSERT_EQ(sched_getaffinity(0, sizeof(usable), &usable), 0);
  int core = 0;
  while (!CPU_ISSET(core, &usable)) ++core;
  TrainerProcess trainer({"--threads", "1", "--cores", std::to_string(core)});
  pollfd hello{trainer.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&hello, 1, static_cast<int>(kTrainingPatience / std::chrono::milliseconds(1))), 1);
  cpu_set_t pinned;
  ASSERT_EQ(sched_getaffinity(trainer.pid(), sizeof(pinned), &pinned), 0);
  EXPECT_EQ(CPU_COUNT(&pinned), 1);
  EXPECT_TRUE(CPU_ISSET(core, &pinned));
}

TEST_F(TrainerProcessTest, TakesMemoryLimitsOfAnySizeInEveryUnit) {
  // An agent writes the limit in bytes.
  for (const char* limit : {"17179869184", "16777216K", "16384Mi", "16G"}) {
    TrainerGang gang(1, {"--threads", "1", "--memory-limit", limit});
    nlohmann::json spec = SmallSpec();
    spec["train"]["max_steps"] = "1";
    EXPECT_EQ(gang.Run(Start(spec)).Cause(), "finished") << limit;
  }
}

TEST_F(TrainerProcessTest, WaitsForTheLastTrainerOfItsSlotToBeGone) {
  const std::vector<std::string> flags{"--threads", "1", "--lock", folder_ / "slot.lock"};
  auto first = std::make_unique<TrainerProcess>(flags);
  const auto await_frame = [](TrainerProcess& trainer, std::chrono::milliseconds limit) {
    pollfd waiting{trainer.fd(), POLLIN, 0};
    return poll(&waiting, 1, static_cast<int>(limit.count())) > 0;
  };
  ASSERT_TRUE(await_frame(*first, kTrainingPatience));
  TrainerProcess second(flags);
  EXPECT_FALSE(await_frame(second, std::chrono::milliseconds(1500)));
  first.reset();
  EXPECT_TRUE(await_frame(second, kTrainingPatience));
}

TEST_F(TrainerProcessTest, AStopIsHeardWhileARankStillWaitsForPeersThatDoNotCome) {
  for (const int rank : {0, 1}) {
    TrainerProcess alone, host;
    frames::Start start = Start(SmallSpec());
    start.world_size = 3;  // the third never comes
    start.data_address = "127.0.0.1";
    host.Send(start);
    start.rank = 1;
    alone.Send(start);
    TrainerProcess& stopped = rank == 0 ? host : alone;
    std::optional<frames::End> end;
    // Far below the two minutes after which the rendezvous itself gives up.
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!end && std::chrono::steady_clock::now() < until) {
      pollfd waiting[] = {{host.fd(), POLLIN, 0}, {alone.fd(), POLLIN, 0}};
      poll(waiting, 2, 100);
      for (TrainerProcess* process : {&host, &alone}) {
        for (const frames::FromTrainer& frame : process->Receive()) {
          const auto* store = std::get_if<frames::StoreUp>(&frame);
          if (store != nullptr) {
            alone.Send(frames::Connect{start.token, store->address});
            stopped.Send(frames::Stop{start.token, /*checkpoint=*/false});
          }
          const auto* ended = std::get_if<frames::End>(&frame);
          if (ended != nullptr && process == &stopped) end = *ended;
        }
      }
    }
    ASSERT_TRUE(end) << "rank " << rank << " still waits";
    EXPECT_EQ(end->cause, "cancelled") << end->message;
  }
}

TEST_F(TrainerProcessTest, AStopIsHeardWhileNobodyAnswersAtTheStoresAddress) {
  const DeafAddress deaf;
  TrainerProcess alone;
  frames::Start start = Start(SmallSpec());
  start.rank = 1;
  start.world_size = 2;
  start.data_address = "127.0.0.1";
  alone.Send(start);
  alone.Send(frames::Connect{start.token, deaf.text()});
  ASSERT_TRUE(Await([&] { return deaf.SomebodyConnects(); }, std::chrono::seconds(60)));
  alone.Send(frames::Stop{start.token, /*checkpoint=*/false});
  std::optional<frames::End> end;
  // Far below the two minutes after which the rendezvous itself gives up.
  const bool ended = Await(
      [&] {
        for (const frames::FromTrainer& frame : alone.Receive()) {
          if (const auto* said = std::get_if<frames::End>(&frame)) end = *said;
        }
        return end.has_value();
      },
      std::chrono::seconds(60));
  ASSERT_TRUE(ended) << "it still tries";
  EXPECT_EQ(end->cause, "cancelled") << end->message;
}

}  // namespace
}  // namespace dt::testing
