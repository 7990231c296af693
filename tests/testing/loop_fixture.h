// loop_fixture.h: the core loop with the test's own clock, store and publisher, and one simulated
// worker that talks to it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/limits.h"
#include "common/worker_level.h"
#include "coordinator/loop/loop.h"
#include "coordinator/loop/restore.h"
#include "gtest/gtest.h"
#include "spec/spec.h"
#include "tests/testing/memory_store.h"
#include "tests/testing/requests.h"

namespace dt::testing {

class ManualClock final : public Clock {
 public:
  Instant Now() const override { return now_; }
  void Advance(absl::Duration by) {
    now_.steady += by;
    now_.wall_ms += absl::ToInt64Milliseconds(by);
  }

 private:
  Instant now_{absl::Seconds(1000), 1'700'000'000'000};
};

// Records what left the loop, and its order relative to the commits.
class RecordingPublisher final : public Publisher {
 public:
  explicit RecordingPublisher(std::vector<std::string>& order) : order_(order) {}
  void Answer(Reply&& reply) override {
    order_.push_back("reply");
    replies.push_back(std::move(reply));
  }
  void SendOrders(OrdersOut&& out) override {
    order_.push_back("orders");
    orders.push_back(std::move(out));
  }
  void EndStream(StreamEnd&& end) override { stream_ends.push_back(std::move(end)); }
  void ResumeReads(size_t bytes) override { drained_bytes += bytes; }
  void ShowStatus(std::shared_ptr<const v1::GetStatusResponse> status) override {
    statuses.emplace_back(std::move(status), replies.size());
  }

  std::vector<Reply> replies;
  std::vector<OrdersOut> orders;
  std::vector<StreamEnd> stream_ends;
  // Each with the number of replies that were sent before it.
  std::vector<std::pair<std::shared_ptr<const v1::GetStatusResponse>, size_t>> statuses;
  std::atomic<size_t> drained_bytes{0};

 private:
  std::vector<std::string>& order_;
};

// Records when it commits.
class OrderedStore final : public MemoryStore {
 public:
  explicit OrderedStore(std::vector<std::string>& order) : order_(order) {}
  absl::Status Commit(const Batch& batch) override {
    order_.push_back("commit");
    std::unique_lock<std::mutex> lock(mutex_);
    committing_ = true;
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kCommitPatience, [this] { return !held_; }));
    committing_ = false;
    return MemoryStore::Commit(batch);
  }
  // Makes commits hang from here on, as on a disk that does not answer.
  void HoldCommits() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = true;
  }
  void AwaitHeldCommit() {
    std::unique_lock<std::mutex> lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kCommitPatience, [this] { return committing_; }));
  }
  void LetCommits() {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }

 private:
  static constexpr std::chrono::seconds kCommitPatience{60};
  std::vector<std::string>& order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool committing_ = false;
};

class LoopFixture : public ::testing::Test {
 protected:
  static constexpr StreamId kStream = 5;

  void SetUp() override { Restart(); }

  // Starts a new process over the same store.
  void Restart() {
    loop_.reset();
    model_ = std::make_unique<MetricsModel>(max_trials_);
    auto state = Restore(store_, clock_, *model_, [] {});
    ASSERT_TRUE(state.ok()) << state.status();
    order_.clear();
    loop_ = std::make_unique<CoreLoop>(
        *std::move(state),
        LoopPorts{mailbox_, store_, publisher_, clock_, *model_, [this](auto scrape) {
                    scrape_ = std::move(scrape);
                    ++scrapes_;
                  }});
  }

  // Runs one turn and everything that follows from it.
  absl::Status RunOnce() {
    const absl::Status status = loop_->RunOnce(absl::ZeroDuration());
    return status.ok() ? loop_->Flush() : status;
  }
  void TurnOk() {
    const absl::Status status = RunOnce();
    ASSERT_TRUE(status.ok()) << status;
  }
  // Lets time pass while the loop turns, as it does in production: one long jump would count as a
  // stall of the loop.
  void Pass(absl::Duration time) {
    for (absl::Duration passed; passed < time; passed += limits::kAwakePulse) {
      clock_.Advance(limits::kAwakePulse);
      TurnOk();
    }
  }
  void Post(Event event) { ASSERT_TRUE(mailbox_.Post(std::move(event), PostClass::kControl)); }

  static v1::SubmitRequest Grid(const std::string& request_id, int trials = 1) {
    v1::SubmitRequest request;
    request.set_request_id(request_id);
    v1::ExperimentSpec& spec = *request.mutable_spec();
    spec.set_version(1);
    spec.set_name("grid");
    *spec.mutable_base() = spec::DefaultSpec();
    spec.mutable_base()->mutable_data()->set_train("*_train_*.bin");
    spec.mutable_base()->mutable_data()->set_val("*_val_*.bin");
    spec.mutable_base()->mutable_resources()->set_device("cpu");
    spec.mutable_base()->mutable_train()->set_max_steps(10);
    spec.mutable_search()->set_method("grid");
    spec.mutable_search()->set_metric("val_loss");
    spec.mutable_search()->set_goal("minimize");
    v1::Parameter& parameter = *spec.add_parameters();
    parameter.set_path("optimizer.lr");
    for (int i = 1; i <= trials; ++i) parameter.add_values()->set_number(1e-4 * i);
    return request;
  }
  template <typename Request>
  void Call(ReplyId reply, Request request) {
    ClientCall call;
    call.reply = reply;
    call.request = MakeRequest(std::move(request), DeviceKind::kCpu, reply);
    Post(Event{std::move(call), {reply, 17}});
  }

  // Sends the worker's next report, with the items added so far.
  void Report() {
    Post(Event{ReportReceived{kStream, "peer", std::move(report_), std::move(totals_)},
               {++entropy_, 1},
               100});
    report_ = v1::WorkerReport();
    totals_.clear();
  }
  void Connect() {
    v1::Hello& hello = *report_.mutable_hello();
    hello.set_worker("host/0");
    hello.set_host("host");
    hello.set_instance(9);
    hello.set_session(1);
    hello.set_device("cpu");
    hello.set_programs(true);
    hello.set_level(kWorkerLevel);
    hello.set_storage_id("disk");
    Report();
    TurnOk();
  }
  // Returns the token of the attempt in the newest orders.
  const std::string& Token() const {
    return publisher_.orders.back().orders.attempt().attempt_token();
  }
  v1::Item& AddItem(const std::string& token) {
    v1::Item& item = *report_.add_items();
    item.set_sequence(++sequence_);
    item.set_attempt_token(token);
    return item;
  }
  void AddRows(const std::string& token, uint64_t step, double loss) {
    v1::StepRows rows;
    v1::StepRow& row = *rows.add_rows();
    row.set_step(step);
    row.set_loss(loss);
    row.set_steps(1);
    row.set_nonfinite_steps(step == 1 ? 1 : 0);
    row.set_tokens(100);
    row.set_seconds(0.5);
    row.set_flops(3000);
    row.set_peak_flops(50000);
    row.set_forward_seconds(0.25);
    v1::Collective& collective = *row.add_collectives();
    collective.set_op("all_gather");
    collective.set_axis("shard");
    collective.set_ranks(2);
    collective.set_seconds(0.25);
    collective.set_exposed_seconds(0.125);
    collective.set_bytes(1000);
    collective.set_bus_bytes(500);
    collective.set_count(2);
    row.set_learning_rate(0.5);
    v1::RowChunk& chunk = *AddItem(token).mutable_rows();
    chunk.set_first_step(step);
    chunk.set_last_step(step);
    chunk.set_count(1);
    chunk.set_rows(rows.SerializeAsString());
    totals_.push_back({row, row});
  }
  void Hold(const std::string& token, v1::AttemptStatus::Phase phase) {
    v1::AttemptStatus& status = *report_.add_attempts();
    status.set_attempt_token(token);
    status.set_phase(phase);
  }
  // Brings the attempt through preparation to training.
  void Run(const std::string& token) {
    v1::Item& prepared = AddItem(token);
    prepared.mutable_prepared()->set_target_steps(10);
    AddItem(token).mutable_running()->set_resumed_step(0);
    Hold(token, v1::AttemptStatus::TRAINING);
    Report();
    TurnOk();
  }

  const size_t max_trials_ = 500;
  std::vector<std::string> order_;
  ManualClock clock_;
  OrderedStore store_{order_};
  RecordingPublisher publisher_{order_};
  Mailbox<Event> mailbox_{1024, 16};
  std::unique_ptr<MetricsModel> model_;
  std::unique_ptr<CoreLoop> loop_;
  std::shared_ptr<const MetricsScrape> scrape_;
  int scrapes_ = 0;
  v1::WorkerReport report_;
  std::vector<RowTotals> totals_;
  uint64_t sequence_ = 0;
  uint64_t entropy_ = 100;
};

}  // namespace dt::testing
