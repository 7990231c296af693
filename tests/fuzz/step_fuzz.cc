// step_fuzz.cc: any bytes as the actions of clients, workers and time on the core, one event after
// another. The simulator's invariants (tests/sim/checker.h) must hold here too.
//
// Workers report anything: about attempts that they hold and about others, in any order. Messages
// that the RPC layer refuses do not reach the core. Sometimes the core restarts from its records.
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/worker_level.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/facts/hash.h"
#include "coordinator/core/facts/snapshot.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "coordinator/rpc/report_check.h"
#include "tests/sim/checker.h"
#include "tests/testing/experiments.h"
#include "tests/testing/requests.h"

namespace {

namespace v1 = ::dtrain::v1;

constexpr int kEventsMax = 100;  // the checker examines all state after each event
constexpr int kWorkers = 4;

class World {
 public:
  explicit World(FuzzedDataProvider& bytes) : bytes_(bytes) {
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(kJournal);
    journal_.push_back(created.SerializeAsString());
    if (!dt::Apply(state_.durable, created).ok()) std::abort();
    dt::Recover(state_, now_);
  }

  void Run() {
    for (int i = 0; i < kEventsMax && bytes_.remaining_bytes() > 0; ++i) One();
    CheckReplay();
  }

 private:
  static constexpr dt::JournalId kJournal = 7;
  struct Worker {
    dt::StreamId stream = 0;  // 0: none
    uint64_t instance = 0;
    uint64_t session = 0;
    uint64_t sequence = 1;
  };

  uint32_t Pick(uint32_t most) { return bytes_.ConsumeIntegralInRange<uint32_t>(0, most); }

  void One() {
    switch (Pick(9)) {
      case 0:
        return Pass();
      case 1:
        return Submit();
      case 2:
        return Call();
      case 3:
      case 4:
      case 5:
      case 6:
        return Report();
      case 7:
        return Close();
      case 8:
        return Raw();
      default:
        if (Pick(15) == 0) Restart();
    }
  }

  void Feed(dt::Event event) {
    event.entropy = {++entropy_, 0};
    std::vector<dt::Effects> batch;
    batch.push_back(dt::Step(state_, std::move(event), now_));
    checker_.AfterStep(state_, batch.back(), now_.steady);
    for (const v1::Record& record : batch.back().records) {
      journal_.push_back(record.SerializeAsString());
      if (!record.has_checkpoint()) continue;
      const v1::CheckpointRef& ref = record.checkpoint().checkpoint();
      storages_[ref.storage_id()][ref.path()] = ref.step();  // a worker's report is believed
    }
    for (const dt::AckToStore& ack : batch.back().acks) acks_.push_back(ack);
    for (const dt::ChunkToStore& chunk : batch.back().chunks) {
      newest_[chunk.attempt] = std::max(newest_[chunk.attempt], chunk.last_step);
    }
    checker_.AfterCommit(state_, batch, storages_);
    for (const dt::StreamEnd& end : batch.back().stream_ends) {
      for (Worker& worker : workers_) {
        if (worker.stream == end.stream) worker.stream = 0;
      }
    }
    Judge();
  }

  void Judge() {
    if (checker_.violation().empty()) return;
    std::fprintf(stderr, "violation: %s\n", checker_.violation().c_str());
    std::abort();
  }

  void Pass() {
    const absl::Duration time = absl::Milliseconds(1 << Pick(17));
    now_.steady += time;
    now_.wall_ms += absl::ToInt64Milliseconds(time);
    for (int i = 0; i < 20 && dt::NextDeadline(state_) <= now_.steady; ++i) {
      Feed({.what = dt::Tick{}});
    }
  }

  void Submit() {
    v1::ExperimentSpec spec = dt::OneTrial();
    const uint32_t trials = 1 + Pick(3);
    if (trials > 1) {
      std::vector<v1::Value> values;
      for (uint32_t i = 0; i < trials; ++i) values.push_back(dt::NumberValue(1e-3 * (i + 1)));
      spec = dt::Sweep(std::move(spec), "optimizer.lr", values);
    }
    v1::Spec& changed = *spec.mutable_base();
    changed.mutable_resources()->set_gpus(1 + static_cast<int32_t>(Pick(2)));
    changed.mutable_resources()->set_priority(static_cast<int32_t>(Pick(2)));
    changed.mutable_train()->set_max_steps(1 + Pick(50));
    changed.mutable_retries()->set_max(static_cast<int32_t>(Pick(2)));
    if (Pick(3) == 0) spec.mutable_search()->set_max_concurrent(1);
    v1::SubmitRequest request;
    *request.mutable_spec() = std::move(spec);
    request.set_request_id(absl::StrCat("id-", Pick(30)));
    request.set_who(Pick(1) == 0 ? "ann" : "bob");
    Ask(dt::MakeRequest(std::move(request), dt::DeviceKind::kCpu, ++entropy_));
  }

  template <typename Request>
  void Ask(Request request) {
    dt::ClientCall call;
    call.reply = ++reply_;
    call.request = std::move(request);
    call.only_of = Pick(3) == 0 ? "ann" : "";
    Feed({.what = std::move(call)});
  }

  template <typename Request>
  Request Of() {
    Request request;
    request.set_experiment(Pick(4));
    return request;
  }

  void Call() {
    switch (Pick(8)) {
      case 0: {
        auto request = Of<v1::CancelRequest>();
        request.set_trial(Pick(4));
        return Ask(std::move(request));
      }
      case 1: {
        auto request = Of<v1::RetryRequest>();
        request.set_failed(Pick(1) == 0);
        request.set_cancelled(Pick(1) == 0);
        return Ask(std::move(request));
      }
      case 2:
        return Ask(Of<v1::DeleteRequest>());
      case 3: {
        v1::MarkWorkerRequest request;
        request.set_worker(NameOf(Pick(kWorkers - 1)));
        request.set_drain(Pick(1) == 0);
        return Ask(std::move(request));
      }
      case 4: {
        v1::SetQuotaRequest request;
        request.set_user(Pick(1) == 0 ? "ann" : "bob");
        request.set_slots(Pick(4));
        request.set_removed(Pick(3) == 0);
        return Ask(std::move(request));
      }
      case 5: {
        v1::ExplainTrialRequest request;
        request.set_experiment(Pick(4));
        request.set_trial(Pick(4));
        return Ask(std::move(request));
      }
      case 6: {
        v1::ListTrialsRequest request;
        request.set_experiment(Pick(4));
        request.set_page_token(bytes_.ConsumeRandomLengthString(12));
        return Ask(std::move(request));
      }
      default:
        return AnyCall();
    }
  }

  // Makes a call of any kind from any bytes, so that every field is covered.
  void AnyCall() {
    switch (Pick(17)) {
      case 0:
        return AskAny<v1::ListExperimentsRequest>();
      case 1:
        return AskAny<v1::GetExperimentRequest>();
      case 2:
        return AskAny<v1::ListTrialsRequest>();
      case 3:
        return AskAny<v1::ListWorkersRequest>();
      case 4:
        return AskAny<v1::ListCheckpointsRequest>();
      case 5:
        return AskAny<v1::ExplainTrialRequest>();
      case 6:
        return AskAny<v1::CancelRequest>();
      case 7:
        return AskAny<v1::RetryRequest>();
      case 8:
        return AskAny<v1::MarkWorkerRequest>();
      case 9:
        return AskAny<v1::SetQuotaRequest>();
      case 10:
        return AskAny<v1::ListQuotasRequest>();
      case 11:
        return AskAny<v1::GetStatusRequest>();
      case 12:
        return Wild();
      case 13:
        return AskAny<v1::AskTrialRequest>();
      case 14:
        return AskAny<v1::SuggestValueRequest>();
      case 15:
        return AskAny<v1::ReportTrialRequest>();
      case 16:
        return AskAny<v1::TellTrialRequest>();
      default:
        return AskAny<v1::ChangeRequest>();
    }
  }

  template <typename Request>
  void AskAny() {
    Request request;
    if (!request.ParseFromString(bytes_.ConsumeRandomLengthString(40))) return;
    if constexpr (requires { request.clear_last(); }) {
      if (request.experiment() > 4) request.set_experiment(Pick(4));
    }
    Ask(std::move(request));
  }

  // Submits or plans a specification with any bytes laid over it; if the rules accept it, it must
  // work.
  void Wild() {
    v1::SubmitRequest request;
    *request.mutable_spec() = dt::OneTrial();
    const std::string changes = bytes_.ConsumeRandomLengthString(200);
    if (!request.mutable_spec()->MergeFromString(changes)) return;
    request.set_request_id(absl::StrCat("wild-", Pick(30)));
    request.set_who("ann");
    request.set_dry_run(Pick(3) == 0);
    if (Pick(3) == 0) {
      const dt::PlanDraft draft =
          dt::PreparePlan(std::move(request), dt::DeviceKind::kCpu, ++entropy_);
      if (!draft.refused.ok()) return;
      const dt::PlanAsk ask = dt::AskOf(draft);
      Ask(ask);
      if (!ask.facts->fleets.empty()) dt::PlanOf(draft, ask).IgnoreError();
    } else {
      Ask(dt::MakeRequest(std::move(request), dt::DeviceKind::kCpu, ++entropy_));
    }
  }

  static std::string NameOf(uint32_t worker) { return absl::StrCat("host/", worker); }

  // Returns the token of a living attempt, or of none.
  std::string Token() {
    std::vector<std::string> known;
    for (const auto& [id, experiment] : state_.durable.experiments) {
      for (const dt::Trial& trial : experiment.trials) {
        for (const dt::Attempt& attempt : trial.attempts) known.push_back(attempt.token.ToBytes());
      }
    }
    const uint32_t which = Pick(8);
    if (known.empty() || which == 8) return std::string(16, 'x');
    return known[known.size() - 1 - which % known.size()];
  }

  v1::Item Item(Worker& worker) {
    v1::Item item;
    item.set_sequence(worker.sequence);
    worker.sequence += Pick(7) == 7 ? 0 : 1;
    item.set_attempt_token(Token());
    const uint64_t step = Pick(60);
    switch (Pick(7)) {
      case 0:
        item.mutable_prepared()->set_target_steps(step);
        break;
      case 1:
        item.mutable_running()->set_resumed_step(Pick(3) == 0 ? step : 0);
        break;
      case 2: {
        v1::StepRows rows;
        rows.add_rows()->set_step(step);
        item.mutable_rows()->set_first_step(step);
        item.mutable_rows()->set_last_step(step);
        item.mutable_rows()->set_count(1);
        item.mutable_rows()->set_rows(rows.SerializeAsString());
        break;
      }
      case 3:
        item.mutable_evaluation()->set_step(step);
        item.mutable_evaluation()->set_loss(Pick(3));
        break;
      case 4: {
        v1::CheckpointRef& ref = *item.mutable_checkpoint();
        ref.set_step(step);
        ref.set_storage_id("st");
        ref.set_path(bytes_.ConsumeRandomLengthString(12));
        ref.set_manifest_hash("h");
        break;
      }
      case 5:
        item.mutable_ended()->set_cause(static_cast<v1::Cause>(Pick(v1::Cause_MAX)));
        item.mutable_ended()->set_step(step);
        break;
      case 6:
        item.mutable_log()->set_text("a line\n");
        break;
      default:
        if (!item.ParseFromString(bytes_.ConsumeRandomLengthString(40))) item.mutable_dropped();
    }
    return item;
  }

  void Report() {
    Worker& worker = workers_[Pick(kWorkers - 1)];
    v1::WorkerReport report;
    report.set_journal_id(kJournal);
    if (worker.stream == 0 || Pick(15) == 0) {
      worker.stream = ++last_stream_;
      if (worker.instance == 0 || Pick(7) == 0) {
        worker.instance = ++last_instance_;
        worker.session = 0;
        worker.sequence = 1;
      }
      v1::Hello& hello = *report.mutable_hello();
      hello.set_worker(NameOf(static_cast<uint32_t>(&worker - workers_)));
      hello.set_instance(worker.instance);
      hello.set_session(++worker.session);
      hello.set_device("cpu");
      hello.set_level(dt::kWorkerLevel);
      hello.set_host(Pick(1) == 0 ? "one" : "two");
      hello.set_storage_id("st");
      hello.set_data_address("127.0.0.1");
    }
    report.set_first_sequence(worker.sequence);
    report.set_draining(Pick(15) == 15);
    const uint32_t held = Pick(2);
    for (uint32_t i = 0; i < held; ++i) {
      v1::AttemptStatus& status = *report.add_attempts();
      status.set_attempt_token(Token());
      status.set_phase(static_cast<v1::AttemptStatus::Phase>(Pick(5)));
      status.set_step(Pick(60));
      status.set_rank(static_cast<int32_t>(Pick(2)));
      if (Pick(3) == 0) status.set_store_address("127.0.0.1:9");
    }
    const uint32_t items = Pick(3);
    for (uint32_t i = 0; i < items; ++i) *report.add_items() = Item(worker);
    Take(worker.stream, std::move(report));
  }

  // Sends a report made of any bytes.
  void Raw() {
    v1::WorkerReport report;
    if (!report.ParseFromString(bytes_.ConsumeRandomLengthString(200))) return;
    Worker& worker = workers_[Pick(kWorkers - 1)];
    if (worker.stream != 0) Take(worker.stream, std::move(report));
  }

  void Take(dt::StreamId stream, v1::WorkerReport report) {
    auto totals = dt::CheckReport(
        report, report.has_hello() ? dt::ReportPlace::kFirstOfStream : dt::ReportPlace::kLater);
    if (!totals.ok()) return;
    Feed({.what = dt::ReportReceived{stream, "peer", std::move(report), *std::move(totals)}});
  }

  void Close() {
    Worker& worker = workers_[Pick(kWorkers - 1)];
    if (worker.stream == 0) return;
    Feed({.what = dt::StreamClosed{std::exchange(worker.stream, 0)}});
  }

  dt::DurableState Replay() const {
    dt::DurableState replayed;
    for (const std::string& bytes : journal_) {
      v1::Record record;
      if (!record.ParseFromString(bytes) || !dt::Apply(replayed, record).ok()) std::abort();
    }
    return replayed;
  }
  void CheckReplay() {
    checker_.CheckReplayed(Replay(), dt::HashOf(state_.durable));
    const auto loaded = dt::LoadSnapshot(dt::SaveSnapshot(state_.durable, {}));
    if (!loaded.ok()) std::abort();
    checker_.CheckReplayed(loaded->state, dt::HashOf(state_.durable));
    Judge();
  }
  void Restart() {
    CheckReplay();
    dt::DurableState durable = Replay();
    state_ = dt::State{};
    state_.durable = std::move(durable);
    dt::LoadAcks(state_, acks_);
    const auto newest = [this](const dt::AttemptId& id) -> absl::StatusOr<uint64_t> {
      const auto found = newest_.find(id);
      return found == newest_.end() ? 0 : found->second;
    };
    if (!dt::LoadNewestSteps(state_, newest).ok()) std::abort();
    dt::Recover(state_, now_);
    checker_.NoteRestart(state_);
    for (Worker& worker : workers_) worker.stream = 0;
    Judge();
  }

  FuzzedDataProvider& bytes_;
  dt::State state_;
  dt::Instant now_{absl::Seconds(1000), 1'000'000};
  dt::sim::Checker checker_{dt::sim::Workers::kLie};
  dt::sim::Storages storages_;
  std::vector<std::string> journal_;
  std::vector<dt::AckToStore> acks_;
  std::map<dt::AttemptId, uint64_t> newest_;
  Worker workers_[kWorkers];
  dt::StreamId last_stream_ = 0;
  uint64_t last_instance_ = 0;
  uint64_t entropy_ = 0;
  dt::ReplyId reply_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  World(bytes).Run();
  return 0;
}
