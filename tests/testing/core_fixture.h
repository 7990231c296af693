// core_fixture.h: the core with an invented clock and invented workers; its functions speak the
// language of the domain.
//
// Every event in and every record, order and reply out is serialized and parsed again. After every
// test the journal is replayed: the durable state must come out the same.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/worker_level.h"
#include "coordinator/core/answer/queries.h"
#include "coordinator/core/answer/summaries.h"
#include "coordinator/core/calls/submit.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/keep/held.h"
#include "coordinator/core/keep/progress.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "tests/testing/experiments.h"
#include "tests/testing/queue_check.h"
#include "tests/testing/requests.h"

namespace dt {

constexpr JournalId kTestJournal = 0x10C0FFEE;

// A worker as the wire shows it. It holds what its orders say until the test changes that.
struct TestWorker {
  v1::Hello hello;
  StreamId stream = 0;
  uint64_t first_sequence = 1;
  uint64_t next_sequence = 1;
  JournalId journal = 0;
  bool draining = false;
  std::optional<v1::Orders> orders;  // the newest
  // The attempts that it holds: token → status.
  std::map<std::string, v1::AttemptStatus> holding;
};

class CoreTest : public testing::Test {
 protected:
  CoreTest() { BeginAnew(); }
  // Starts again with an empty journal and no worker, as at the start of the test.
  void BeginAnew() {
    if (!journal_.empty()) {
      EXPECT_EQ(HashOf(state_.durable), HashOf(Replay()));
    }
    state_ = State{};
    journal_.clear();
    workers_.clear();
    by_stream_.clear();
    acks_.clear();
    chunks_.clear();
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(kTestJournal);
    created.set_wall_time_ms(now_.wall_ms);
    journal_.push_back(created.SerializeAsString());
    EXPECT_TRUE(Apply(state_.durable, created).ok());
    Recover(state_, now_);
  }
  void TearDown() override { EXPECT_EQ(HashOf(state_.durable), HashOf(Replay())); }

  // ---- the coordinator ----
  void Feed(Event event) {
    event.entropy = {++entropy_, 0};
    last_ = Step(state_, std::move(event), now_);
    for (v1::Record& record : last_.records) journal_.push_back(record.SerializeAsString());
    for (const AckToStore& ack : last_.acks) acks_[{ack.worker, ack.instance}] = ack.sequence;
    for (ChunkToStore& chunk : last_.chunks) chunks_.push_back(chunk);
    for (OrdersOut& out : last_.orders) {
      const auto found = by_stream_.find(out.stream);
      ASSERT_NE(found, by_stream_.end());
      v1::Orders orders;
      ASSERT_TRUE(orders.ParseFromString(out.orders.SerializeAsString()));
      workers_.at(found->second).orders = std::move(orders);
      ++orders_sent_[found->second];
    }
    for (const StreamEnd& end : last_.stream_ends) {
      ends_.push_back(end);
      const auto found = by_stream_.find(end.stream);
      if (found == by_stream_.end()) continue;
      if (workers_.at(found->second).stream == end.stream) workers_.at(found->second).stream = 0;
      by_stream_.erase(found);
    }
    CheckInvariants();
  }
  void Tick() { Feed({.what = dt::Tick{}}); }

  // Lets time pass in heartbeats: connected workers report, due timers fire.
  void Advance(absl::Duration time) {
    const absl::Duration end = now_.steady + time;
    while (now_.steady < end) {
      const absl::Duration next =
          std::min({end, now_.steady + limits::kHeartbeat,
                    std::max(now_.steady + absl::Milliseconds(1), NextDeadline(state_))});
      Pass(next - now_.steady);
      if (now_.steady - beat_ >= limits::kHeartbeat) {
        beat_ = now_.steady;
        for (auto& [name, worker] : workers_) {
          if (worker.stream != 0) Heartbeat(name);
        }
      }
      if (NextDeadline(state_) <= now_.steady) Tick();
    }
  }
  // Moves the clock alone.
  void Pass(absl::Duration time) {
    now_.steady += time;
    now_.wall_ms += absl::ToInt64Milliseconds(time);
  }

  // Ends the process and starts it again with its journal; streams are gone.
  void RestartCoordinator() {
    state_ = State{};
    state_.durable = Replay();
    std::vector<AckToStore> acks;
    for (const auto& [key, sequence] : acks_) acks.push_back({key.first, key.second, sequence});
    LoadAcks(state_, acks);
    EXPECT_TRUE(LoadNewestSteps(state_, [this](const AttemptId& attempt) {
                  uint64_t newest = 0;
                  for (const ChunkToStore& chunk : chunks_) {
                    if (chunk.attempt == attempt) newest = std::max(newest, chunk.last_step);
                  }
                  return newest;
                }).ok());
    Recover(state_, now_);
    for (auto& [name, worker] : workers_) worker.stream = 0;
    by_stream_.clear();
  }
  DurableState Replay() const {
    DurableState replayed;
    v1::Record record;
    for (const std::string& bytes : journal_) {
      EXPECT_TRUE(record.ParseFromString(bytes));
      EXPECT_TRUE(Apply(replayed, record).ok()) << record.ShortDebugString();
    }
    return replayed;
  }

  // ---- users' calls ----
  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(Request request, bool disk_low = false) {
    ClientCall call;
    call.reply = ++reply_;
    call.request = MakeRequest(std::move(request), AutoDevice(state_.live), entropy_);
    call.disk_low = disk_low;
    Feed({.what = std::move(call)});
    EXPECT_EQ(last_.replies.size(), 1u);
    if (!last_.replies[0].status.ok()) return last_.replies[0].status;
    EXPECT_EQ(last_.replies[0].id, reply_);
    Response response;
    EXPECT_TRUE(response.ParseFromString(last_.replies[0].response->SerializeAsString()));
    return response;
  }
  absl::StatusOr<v1::SubmitResponse> TrySubmit(v1::ExperimentSpec spec,
                                               const std::string& request_id = "") {
    v1::SubmitRequest request;
    // Not one step, so that there is something to report.
    if (spec.base().train().max_steps() == 1)
      spec.mutable_base()->mutable_train()->set_max_steps(100);
    *request.mutable_spec() = std::move(spec);
    request.set_request_id(request_id);
    return Call<v1::SubmitResponse>(std::move(request));
  }
  ExperimentId Submit(v1::ExperimentSpec spec) {
    const auto response = TrySubmit(std::move(spec));
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->experiment() : 0;
  }
  uint32_t Cancel(ExperimentId experiment, uint32_t trial = 0) {
    v1::CancelRequest request;
    request.set_experiment(experiment);
    request.set_trial(trial);
    const auto response = Call<v1::CancelResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->trials() : 0;
  }
  uint32_t RetryFailed(ExperimentId experiment) {
    v1::RetryRequest request;
    request.set_experiment(experiment);
    request.set_failed(true);
    const auto response = Call<v1::RetryResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->trials() : 0;
  }
  std::string Explain(TrialId id) {
    v1::ExplainTrialRequest request;
    request.set_experiment(id.experiment);
    request.set_trial(id.trial);
    const auto response = Call<v1::ExplainTrialResponse>(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return response.ok() ? response->explanation() : "";
  }

  // ---- workers ----
  struct Where {
    std::string host = "host-a";
    std::string device = "cpu";
    std::string storage = "storage-a";
  };
  TestWorker& AddWorker(const std::string& name, Where where) {
    TestWorker& worker = workers_[name];
    worker.hello.set_worker(name);
    worker.hello.set_instance(1000 + workers_.size());
    worker.hello.set_host(where.host);
    worker.hello.set_device(where.device);
    worker.hello.set_level(kWorkerLevel);
    worker.hello.set_storage_id(where.storage);
    worker.hello.set_programs(true);
    worker.hello.set_gpu_uuid("GPU-" + name);
    Connect(name);
    return worker;
  }
  TestWorker& AddWorker(const std::string& name) { return AddWorker(name, Where()); }
  // Opens a new stream of the same process.
  void Connect(const std::string& name) {
    TestWorker& worker = workers_.at(name);
    worker.stream = ++stream_;
    by_stream_[worker.stream] = name;
    worker.hello.set_session(worker.hello.session() + 1);
    v1::WorkerReport report;
    *report.mutable_hello() = worker.hello;
    Send(name, std::move(report));
  }
  // Replaces the worker's process by another with the same name.
  void Restart(const std::string& name) {
    TestWorker& worker = workers_.at(name);
    worker.hello.set_instance(worker.hello.instance() + 100000);
    worker.hello.set_session(0);
    worker.next_sequence = 1;
    worker.holding.clear();
    worker.orders.reset();
    Connect(name);
  }
  void Disconnect(const std::string& name) {
    TestWorker& worker = workers_.at(name);
    by_stream_.erase(worker.stream);
    const StreamId stream = std::exchange(worker.stream, 0);
    Feed({.what = StreamClosed{stream}});
  }
  void Heartbeat(const std::string& name) { Send(name, {}); }
  // Sends `report`, with the attempts that the worker holds, on its stream.
  void Send(const std::string& name, v1::WorkerReport report) {
    TestWorker& worker = workers_.at(name);
    report.set_journal_id(worker.journal);
    report.set_first_sequence(worker.first_sequence);
    report.set_draining(worker.draining);
    for (const auto& [token, status] : worker.holding) *report.add_attempts() = status;
    SendOn(worker.stream, std::move(report));
  }
  void SendOn(StreamId stream, v1::WorkerReport report) {
    ReportReceived received;
    received.stream = stream;
    received.peer = "10.0.0.1:1";
    received.row_totals = std::exchange(row_totals_, {});
    ASSERT_TRUE(received.report.ParseFromString(report.SerializeAsString()));
    Feed({.what = std::move(received)});
  }
  // Takes over the orders: their journal, and the attempt they name.
  void Follow(const std::string& name) {
    TestWorker& worker = workers_.at(name);
    ASSERT_TRUE(worker.orders.has_value()) << name << " has no orders";
    worker.journal = worker.orders->journal_id();
    if (!worker.orders->has_attempt()) {
      worker.holding.clear();
      return;
    }
    const v1::Assigned& assigned = worker.orders->attempt();
    if (worker.holding.contains(assigned.attempt_token())) return;
    worker.holding.clear();
    v1::AttemptStatus& status = worker.holding[assigned.attempt_token()];
    status.set_attempt_token(assigned.attempt_token());
    status.set_phase(v1::AttemptStatus::PREPARING);
    status.set_rank(assigned.rank());
  }
  // Reports that the processes of the worker's attempt are gone.
  void Leave(const std::string& name) {
    TestWorker& worker = workers_.at(name);
    for (auto& [token, status] : worker.holding) status.set_phase(v1::AttemptStatus::GONE);
    Heartbeat(name);
    worker.holding.clear();
  }

  // Returns an item for the attempt in this worker's orders.
  v1::Item ItemOf(const std::string& name) {
    v1::Item item;
    item.set_attempt_token(workers_.at(name).orders->attempt().attempt_token());
    return item;
  }
  void SendItems(const std::string& name, std::vector<v1::Item> items) {
    TestWorker& worker = workers_.at(name);
    v1::WorkerReport report;
    for (v1::Item& item : items) {
      item.set_sequence(worker.next_sequence++);
      *report.add_items() = item;
    }
    Send(name, std::move(report));
  }
  // Sends one row, with its totals as the RPC layer computes them.
  void SendRows(const std::string& name, const v1::StepRow& row) {
    TestWorker& worker = workers_.at(name);
    v1::Item item = Rows(name, row.step(), row.step());
    item.set_sequence(worker.next_sequence++);
    row_totals_ = {{row, row}};
    v1::WorkerReport report;
    *report.add_items() = item;
    Send(name, std::move(report));
  }
  // Prepared for as many steps as the worker's orders ask for.
  v1::Item Prepared(const std::string& name) {
    return Prepared(name, workers_.at(name).orders->attempt().spec().train().max_steps());
  }
  v1::Item Prepared(const std::string& name, uint64_t target_steps) {
    v1::Item item = ItemOf(name);
    item.mutable_prepared()->set_target_steps(target_steps);
    item.mutable_prepared()->set_data_fingerprint("data-1");
    item.mutable_prepared()->set_train_tokens(5000);
    item.mutable_prepared()->set_tokens_per_step(500);
    return item;
  }
  v1::Item Running(const std::string& name, uint64_t resumed_step = 0) {
    v1::Item item = ItemOf(name);
    item.mutable_running()->set_resumed_step(resumed_step);
    return item;
  }
  // A finished attempt ends after the last of its 100 steps, unless `step` is given.
  v1::Item Ended(const std::string& name, v1::Cause cause, std::optional<uint64_t> step = {}) {
    v1::Item item = ItemOf(name);
    item.mutable_ended()->set_cause(cause);
    item.mutable_ended()->set_step(step.value_or(cause == v1::CAUSE_FINISHED ? 100 : 0));
    item.mutable_ended()->set_message(absl::StrCat("because of ", std::string(Name(cause))));
    return item;
  }
  v1::Item Checkpoint(const std::string& name, uint64_t step) {
    v1::Item item = ItemOf(name);
    item.mutable_checkpoint()->set_step(step);
    item.mutable_checkpoint()->set_storage_id(workers_.at(name).hello.storage_id());
    const v1::Assigned& assigned = workers_.at(name).orders->attempt();
    item.mutable_checkpoint()->set_path(absl::StrCat(assigned.experiment(), "/", assigned.trial(),
                                                     "/a", assigned.attempt(), "/step-", step));
    return item;
  }
  v1::Item Evaluation(const std::string& name, uint64_t step, double loss) {
    v1::Item item = ItemOf(name);
    item.mutable_evaluation()->set_step(step);
    item.mutable_evaluation()->set_split("val");
    item.mutable_evaluation()->set_loss(loss);
    return item;
  }
  v1::Item Rows(const std::string& name, uint64_t first, uint64_t last) {
    v1::Item item = ItemOf(name);
    v1::StepRows rows;
    for (uint64_t step = first; step <= last; ++step) {
      v1::StepRow& row = *rows.add_rows();
      row.set_step(step);
      row.set_loss(10.0 / static_cast<double>(step));
    }
    item.mutable_rows()->set_first_step(first);
    item.mutable_rows()->set_last_step(last);
    item.mutable_rows()->set_count(static_cast<uint32_t>(last - first + 1));
    item.mutable_rows()->set_rows(rows.SerializeAsString());
    return item;
  }

  // Brings the gang of these workers, in the order of ranks, from its orders to training.
  void Train(const std::vector<std::string>& gang, uint64_t resumed_step = 0) {
    for (const std::string& name : gang) {
      Follow(name);
      for (auto& [token, status] : workers_.at(name).holding) {
        status.set_phase(v1::AttemptStatus::TRAINING);
        status.set_step(resumed_step);
        status.mutable_prepared()->set_data_fingerprint("data-1");
        if (name == gang[0]) status.set_store_address("10.0.0.1:29500");
      }
      Heartbeat(name);
    }
    SendItems(gang[0], {Prepared(gang[0]), Running(gang[0], resumed_step)});
  }
  // Reports a trial of 100 steps that takes `seconds` a step.
  void TellPace(const std::string& name, uint64_t step, double seconds) {
    for (auto& [token, status] : workers_.at(name).holding) {
      status.set_step(step);
      status.mutable_latest()->set_step(step);
      status.mutable_latest()->set_steps(1);
      status.mutable_latest()->set_seconds(seconds);
    }
    Heartbeat(name);
  }
  // Trains until one step is left, so that lending the slots reserved beside it is not worthwhile.
  void TrainToTheLastStep(const std::vector<std::string>& gang) {
    Train(gang);
    TellPace(gang[0], 99, 1);
  }
  // Lets rank 0 finish and every worker leave.
  void Finish(const std::vector<std::string>& gang, uint64_t step = 100) {
    SendItems(gang[0], {Ended(gang[0], v1::CAUSE_FINISHED, step)});
    for (const std::string& name : gang) Leave(name);
  }

  // ---- expectations ----
  const Trial& TrialOf(TrialId id) { return GetTrial(state_.durable, id); }
  v1::TrialState StateOfTrial(TrialId id) { return TrialOf(id).state; }
  const v1::Assigned* AssignedTo(const std::string& name) {
    const auto& orders = workers_.at(name).orders;
    return orders.has_value() && orders->has_attempt() ? &orders->attempt() : nullptr;
  }
  // Expects that the newest orders of this worker give it this rank of this trial.
  void ExpectOrders(const std::string& name, TrialId id, int rank) {
    const v1::Assigned* assigned = AssignedTo(name);
    ASSERT_NE(assigned, nullptr) << name;
    EXPECT_EQ((TrialId{assigned->experiment(), assigned->trial()}), id) << name;
    EXPECT_EQ(assigned->rank(), rank) << name;
  }
  void ExpectIdle(const std::string& name) { EXPECT_EQ(AssignedTo(name), nullptr) << name; }
  // Expects that the last event had no effect outside the process and nothing to keep.
  void ExpectNothingElse() {
    EXPECT_TRUE(last_.NothingDurable());
    EXPECT_TRUE(last_.orders.empty());
    EXPECT_TRUE(last_.replies.empty());
    EXPECT_TRUE(last_.stream_ends.empty());
  }
  void ExpectStreamEnded(absl::StatusCode code) {
    ASSERT_FALSE(ends_.empty());
    EXPECT_EQ(ends_.back().status.code(), code) << ends_.back().status;
  }

  // Checks what holds after every event: a slot has one attempt at most, gangs are complete, pools
  // agree, and no trial waits that could start.
  void CheckInvariants() {
    EXPECT_EQ(MisplacedIn(state_), "");
    State anew;
    anew.durable = state_.durable;
    RebuildProgress(anew);
    for (const auto& [id, progress] : anew.live.progress) {
      ExperimentProgress& kept = state_.live.progress[id];
      kept.trials.resize(progress.trials.size());
      EXPECT_EQ(kept.trials, progress.trials);
      EXPECT_EQ(kept.done, progress.done);
      EXPECT_EQ(kept.trained, progress.trained);
      EXPECT_NEAR(kept.trained_seconds, progress.trained_seconds, 1e-9 * progress.trained_seconds);
      EXPECT_EQ(kept.took, progress.took);
      EXPECT_EQ(kept.took_ms, progress.took_ms);
      EXPECT_EQ(kept.ranked, progress.ranked);
      EXPECT_EQ(kept.front, progress.front);
      EXPECT_EQ(kept.rungs, progress.rungs);
    }
    std::map<std::string, int> members;
    for (const auto& [number, experiment] : state_.durable.experiments) {
      for (const Trial& trial : experiment.trials) {
        if (!IsActive(trial.state)) continue;
        for (const GangMember& member : trial.attempts.back().members) {
          EXPECT_EQ(++members[member.worker], 1) << member.worker << " is given twice";
        }
      }
    }
    for (const Worker& worker : state_.live.workers) {
      if (worker.name.empty()) continue;
      bool free = false;
      for (const auto& [constraint, pool] : state_.live.pools) {
        free = free || pool.IsFree(worker.index);
      }
      for (const Reservation& reservation : state_.live.reservations) {
        free = free || reservation.slots.IsFree(worker.index);
      }
      const bool may = worker.presence == Presence::kConnected && !worker.draining &&
                       worker.attempt == nullptr && worker.foreign.empty() &&
                       !IsHeld(state_, worker.name);
      EXPECT_EQ(free, may) << worker.name;
    }
  }

  Instant now_{absl::Seconds(1000), 1700000000000};
  absl::Duration beat_ = now_.steady;
  State state_;
  Effects last_;
  std::map<std::string, TestWorker> workers_;
  std::map<StreamId, std::string> by_stream_;
  std::map<std::string, int> orders_sent_;
  std::vector<StreamEnd> ends_;
  std::vector<std::string> journal_;
  std::vector<ChunkToStore> chunks_;
  std::vector<RowTotals> row_totals_;  // for the next report
  std::map<std::pair<std::string, InstanceId>, uint64_t> acks_;
  uint64_t entropy_ = 0;
  ReplyId reply_ = 0;
  StreamId stream_ = 0;
};

}  // namespace dt
