// agent_fixture.h: an agent with an invented clock, coordinator and trainer; its functions speak
// the language of the domain. Every message sent and received is serialized and parsed again.
#pragma once

#include <signal.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "worker/agent/agent.h"

namespace dt {

constexpr JournalId kJournal = 77;

inline AttemptToken TokenOf(uint8_t number) {
  AttemptToken token;
  token.bytes.fill(number);
  return token;
}

class AgentTest : public testing::Test {
 protected:
  AgentTest() : state_(MakeAgent(Options(), now_)) {}

  static AgentOptions Options() {
    AgentOptions options;
    options.hello.set_worker("w0");
    options.hello.set_instance(42);
    options.hello.set_host("h");
    options.hello.set_device("cpu");
    options.hello.set_storage_id("storage-1");
    options.hello.set_data_address("127.0.0.1");
    options.storage = "/storage";
    options.trainer_path = "dttrain";
    options.trainer_start = TrainerStart::kOnDemand;
    return options;
  }

  // ---- events from outside ----
  void Feed(AgentEvent event) {
    Actions made = AgentStep(state_, std::move(event), now_);
    for (AgentAction& action : made) actions_.push_back(std::move(action));
  }
  void Advance(absl::Duration time) {
    now_.steady += time;
    now_.wall_ms += absl::ToInt64Milliseconds(time);
    Feed(TimePassed{});
  }
  void Connect() { Feed(StreamConnected{}); }
  // Takes every report that waits to be sent, as a stream that never blocks does.
  void DeliverReports() {
    while (const auto report = TakeReport()) {
      reports_.push_back(*report);
      for (const v1::Item& item : report->items()) items_.push_back(item);
      Feed(ReportWritten{state_.session});
    }
  }
  void Order(v1::Orders orders) {
    orders.set_journal_id(journal_);
    v1::Orders wire;
    ASSERT_TRUE(wire.ParseFromString(orders.SerializeAsString()));
    Feed(OrdersReceived{state_.session, wire});
  }
  static v1::Orders Holding(uint8_t token, int rank = 0, int world_size = 1) {
    v1::Orders orders;
    v1::Assigned& assigned = *orders.mutable_attempt();
    assigned.set_experiment(1);
    assigned.set_trial(2);
    assigned.set_attempt(3);
    assigned.set_attempt_token(TokenOf(token).ToBytes());
    assigned.set_rank(rank);
    assigned.set_world_size(world_size);
    assigned.mutable_spec()->set_seed(9);
    return orders;
  }
  static v1::Orders HoldingNothing() { return {}; }
  void Say(const frames::FromTrainer& frame) {
    auto wire = frames::ParseFromTrainer(frames::ToLine(frame));
    ASSERT_TRUE(std::holds_alternative<frames::FromTrainer>(wire));
    Feed(FrameReceived{std::get<frames::FromTrainer>(wire)});
  }
  void TrainerComesUp() {
    frames::Hello hello;
    hello.torch_version = "2.11.0";
    Say(hello);
    Say(frames::Idle{});
  }
  void Train(uint64_t first, uint64_t last, uint8_t token = 1) {
    for (uint64_t step = first; step <= last; ++step) {
      Say(frames::StepDone{Hex(token), {{"step", step}, {"loss", 1.5}}});
    }
  }
  void EndsAs(const std::string& cause, uint8_t token = 1) {
    Say(frames::End{Hex(token), cause, "", 0});
  }
  void TrainerDies(int wait_status, OomEvidence oom = OomEvidence::kNone) {
    Feed(TrainerExited{wait_status, oom});
  }
  // Connects, orders attempt 1 with this rank, and brings it to training.
  void ReachTraining(int rank = 0, int world_size = 1) {
    Connect();
    Order(Holding(1, rank, world_size));
    TrainerComesUp();
    Say(frames::Prepared{.token = Hex(1), .target_steps = 100, .data_fingerprint = "f"});
    Say(frames::Running{Hex(1), 0});
    DeliverReports();
    actions_.clear();
  }

  // ---- results ----
  template <typename Action>
  std::optional<Action> Take() {
    for (auto it = actions_.begin(); it != actions_.end(); ++it) {
      if (Action* found = std::get_if<Action>(&*it)) {
        Action taken = std::move(*found);
        actions_.erase(it);
        return taken;
      }
    }
    return std::nullopt;
  }
  std::optional<v1::WorkerReport> TakeReport() {
    auto action = Take<SendReport>();
    if (!action) return std::nullopt;
    v1::WorkerReport wire;
    EXPECT_TRUE(wire.ParseFromString(action->report.SerializeAsString()));
    return wire;
  }
  // Takes the next frame for the trainer, which must have this type.
  template <typename Frame>
  std::optional<Frame> TakeFrame() {
    auto action = Take<SendFrame>();
    if (!action) return std::nullopt;
    auto wire = frames::ParseToTrainer(frames::ToLine(action->frame));
    if (!std::holds_alternative<frames::ToTrainer>(wire)) return std::nullopt;
    const Frame* frame = std::get_if<Frame>(&std::get<frames::ToTrainer>(wire));
    return frame ? std::optional<Frame>(*frame) : std::nullopt;
  }
  void ExpectNothingElse() {
    DeliverReports();
    EXPECT_TRUE(actions_.empty()) << actions_.size() << " unexpected actions, the first of kind "
                                  << actions_.front().index();
    actions_.clear();
  }
  // Returns the ends among all items that reached the coordinator, the newest report's last.
  std::vector<v1::Ended> Ends() {
    DeliverReports();
    std::vector<v1::Ended> ends;
    for (const v1::Item& item : items_) {
      if (item.has_ended()) ends.push_back(item.ended());
    }
    return ends;
  }
  v1::Ended OnlyEnd() {
    const auto ends = Ends();
    EXPECT_EQ(ends.size(), 1u);
    return ends.empty() ? v1::Ended() : ends.front();
  }
  const v1::WorkerReport& LastReport() {
    DeliverReports();
    EXPECT_FALSE(reports_.empty());
    if (reports_.empty()) reports_.emplace_back();
    return reports_.back();
  }
  bool Holds(uint8_t token) {
    const v1::WorkerReport& report = LastReport();
    return std::any_of(report.attempts().begin(), report.attempts().end(), [&](const auto& held) {
      return held.attempt_token() == TokenOf(token).ToBytes() &&
             held.phase() != v1::AttemptStatus::GONE;
    });
  }
  bool SaysGone(uint8_t token) {
    const v1::WorkerReport& report = LastReport();
    return std::any_of(report.attempts().begin(), report.attempts().end(), [&](const auto& held) {
      return held.attempt_token() == TokenOf(token).ToBytes() &&
             held.phase() == v1::AttemptStatus::GONE;
    });
  }
  void Acknowledge(v1::Orders orders) {
    DeliverReports();
    orders.set_acked_sequence(items_.empty() ? 0 : items_.back().sequence());
    Order(std::move(orders));
  }
  static std::string Hex(uint8_t token) { return TokenOf(token).ToHex(); }

  Instant now_{absl::Seconds(1000), 1'700'000'000'000};
  JournalId journal_ = kJournal;
  AgentState state_;
  Actions actions_;
  std::vector<v1::WorkerReport> reports_;
  std::vector<v1::Item> items_;
};

// A wait status as waitpid returns it.
inline int Signalled(int number) { return number; }
inline int Exited(int status) { return status << 8; }

}  // namespace dt
