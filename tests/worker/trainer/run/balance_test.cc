// balance_test.cc: ranks that share a step's micro-batches by their speed, one of them held up most
// of the time. With real processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/worker/trainer/run/attempt_fixture.h"

namespace dt::testing {
namespace {

// Largest allowed difference between parallel strategies.
constexpr double kApart = 1e-5;

nlohmann::json Balanced(const std::string& strategy, int steps) {
  nlohmann::json spec = SmallSpec();
  spec["train"]["max_steps"] = std::to_string(steps);
  spec["train"]["batch_size"] = 2;
  spec["train"]["global_batch_size"] = "24";
  spec["train"]["hash_every"] = 1;
  spec["parallel"]["strategy"] = strategy;
  spec["parallel"]["balance"] = "auto";
  return spec;
}
nlohmann::json Equal(nlohmann::json spec) {
  spec["parallel"]["balance"] = "none";
  return spec;
}

// Until it is destroyed, alternately stops a process and lets it run, a fifth of the time: on a
// busy machine a rank that is stopped for half of it may be as fast as one that waits for a core.
class HeldUp {
 public:
  explicit HeldUp(pid_t pid) : pid_(pid), thread_([this] { Turns(); }) {}
  ~HeldUp() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    thread_.join();
    kill(pid_, SIGCONT);
  }

 private:
  void Turns() {
    std::unique_lock lock(mutex_);
    for (bool runs = false; !over_; runs = !runs) {
      kill(pid_, runs ? SIGCONT : SIGSTOP);
      changed_.wait_for(lock, std::chrono::milliseconds(runs ? 4 : 16), [this] { return over_; });
    }
  }

  const pid_t pid_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;  // last: it uses everything above
};

class BalanceTest : public AttemptTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // New processes, because the test reads their logs.
  BalanceTest() { BeginProcesses(); }
  // Holds the second rank at a fifth of its speed once all ranks train.
  static Told RunHeldUp(TrainerGang& gang, const frames::Start& start) {
    std::optional<HeldUp> held_up;
    return gang.Run(start, [&](TrainerGang& of, const frames::FromTrainer& frame) {
      if (std::holds_alternative<frames::StepDone>(frame) && !held_up) {
        held_up.emplace(of.rank(1).pid());
      }
      if (std::holds_alternative<frames::End>(frame)) held_up.reset();
    });
  }
  // Returns the shares, each time ranks changed them, as the first rank's log shows them.
  static std::vector<std::vector<int64_t>> Shares(TrainerGang& gang) {
    std::vector<std::vector<int64_t>> all;
    const std::string log = gang.rank(0).LogTail();
    const std::string begin = "ranks compute ";
    for (size_t at = log.find(begin); at != std::string::npos; at = log.find(begin, at + 1)) {
      std::istringstream line(log.substr(at + begin.size()));
      std::vector<int64_t>& shares = all.emplace_back();
      int64_t share = 0;
      for (char comma = ','; comma == ',' && line >> share; line >> comma) shares.push_back(share);
    }
    return all;
  }
};

TEST_P(BalanceTest, ASlowRankGetsFewerMicroStepsAndLossesStay) {
  const nlohmann::json spec = Balanced(GetParam(), 60);
  nlohmann::json saving = spec;
  saving["checkpoint"]["every"]["steps"] = "5";
  saving["checkpoint"]["keep_latest"] = 100;
  const frames::Start start = StoredStart(saving);
  TrainerGang gang(2);
  const Told balanced = RunHeldUp(gang, start);
  ExpectFinished(balanced);
  const auto shares = Shares(gang);
  ASSERT_FALSE(shares.empty());
  ASSERT_EQ(shares.back().size(), 2u);
  EXPECT_EQ(shares.back()[0] + shares.back()[1], 12);
  // At other times a busy machine may slow the other rank as much.
  EXPECT_TRUE(std::any_of(shares.begin(), shares.end(), [](const auto& each) {
    return each[1] < each[0];
  })) << "the slow one";
  EXPECT_GE(shares.back()[1], 1);

  const Told equal = TrainerGang(2).Run(Start(Equal(spec)));
  ExpectFinished(equal);
  EXPECT_LE(LargestDifference(balanced.Losses(), equal.Losses()), kApart);
  EXPECT_LE(LargestDifference(balanced.Column("grad_norm"), equal.Column("grad_norm")), 1e-3);
  EXPECT_NEAR(balanced.evals.back().loss, equal.evals.back().loss, kApart);
  EXPECT_EQ(balanced.Column("tokens"), equal.Column("tokens"));

  // From a checkpoint that was written with other shares, on as many ranks and on other numbers.
  frames::Start rest = start;
  rest.resume = ResumeOf(balanced.checkpoints.at(7));
  std::vector<double> losses = equal.Losses();
  losses.erase(losses.begin(), losses.begin() + 40);
  for (const int ranks : {2, 3}) {
    ++rest.attempt;
    const Told resumed = TrainerGang(ranks).Run(rest);
    ExpectFinished(resumed);
    EXPECT_EQ(resumed.resumed_step, 40u);
    EXPECT_LE(LargestDifference(resumed.Losses(), losses), kApart) << ranks;
  }
}

TEST_P(BalanceTest, DropoutDoesNotDependOnTheRank) {
  nlohmann::json spec = Balanced(GetParam(), 30);
  spec["model"]["dropout"] = 0.1;
  TrainerGang gang(2);
  const Told balanced = RunHeldUp(gang, Start(spec));
  ExpectFinished(balanced);
  EXPECT_FALSE(Shares(gang).empty());
  const Told equal = TrainerGang(2).Run(Start(Equal(spec)));
  EXPECT_LE(LargestDifference(balanced.Losses(), equal.Losses()), kApart);
}

TEST_P(BalanceTest, ARankThatIsKilledUnderOtherSharesEndsTheAttemptAsAlways) {
  TrainerGang gang(2);
  {
    std::optional<HeldUp> held_up;
    const Told told = gang.Run(Start(Balanced(GetParam(), 100000)),
                               [&](TrainerGang& of, const frames::FromTrainer& frame) {
                                 const auto* done = std::get_if<frames::StepDone>(&frame);
                                 if (done == nullptr) return;
                                 if (!held_up) held_up.emplace(of.rank(1).pid());
                                 if (Shares(of).empty()) return;
                                 held_up.reset();
                                 kill(of.rank(1).pid(), SIGKILL);
                               });
    EXPECT_EQ(told.Cause(0), "collective") << told.Message(0);
    EXPECT_EQ(told.Cause(1), "gone");
  }
}

INSTANTIATE_TEST_SUITE_P(All, BalanceTest, ::testing::Values("ddp", "zero1"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace dt::testing
