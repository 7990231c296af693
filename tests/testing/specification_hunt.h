// specification_hunt.h: complete specifications, drawn from the ranges of the field table and from
// just outside them, as any client may send them. Each is checked, planned and resolved. One that
// passes is submitted to a core with workers, which places trials and searches. It must expand and
// resolve, and nothing may fault, whatever passes.
//
// Sometimes an experiment has a range that Validate refuses today but an earlier version
// accepted.
//
// Role:  shared by tests/fuzz/specification_fuzz.cc, whose bytes come from libFuzzer, and
//        tests/coordinator/rpc/specification_test.cc, whose bytes come from fixed seeds.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/worker_level.h"
#include "coordinator/core/answer/plan/planning.h"
#include "coordinator/core/facts/apply.h"
#include "coordinator/core/model/submission.h"
#include "coordinator/core/run/recover.h"
#include "coordinator/core/step.h"
#include "coordinator/rpc/report_check.h"
#include "spec/file/experiment_file.h"
#include "spec/search.h"
#include "spec/sizes.h"
#include "tests/testing/specification_drawing.h"

namespace dt::hunt {

// A core, and workers that follow their orders and report what the bytes say.
class Fleet {
 public:
  Fleet(Choices& bytes, Drawing& drawing) : bytes_(bytes), drawing_(drawing) {
    v1::Record created;
    created.mutable_journal_created()->set_journal_id(kJournal);
    journal_.push_back(created.SerializeAsString());
    if (!dt::Apply(state_.durable, created).ok()) std::abort();
    dt::Recover(state_, now_);
    for (uint32_t i = 0; i < kWorkers; ++i) Connect(i);
  }

  void Plan(const dt::PlanDraft& draft) {
    const dt::PlanAsk ask = dt::AskOf(draft);
    Call(ask);
    if (!ask.facts->fleets.empty() && !dt::PlanOf(draft, ask).ok()) std::abort();
  }
  void Submit(dt::Submission submission) { Call(std::move(submission)); }

  void Run() {
    for (int turn = 0; turn < kTurns && bytes_.left() > 0; ++turn) {
      for (uint32_t i = 0; i < kWorkers; ++i) Work(i);
      now_.steady += absl::Seconds(drawing_.One(4) ? 30 : 1);
      now_.wall_ms += 1000;
      for (uint32_t i = 0; i < kWorkers; ++i) Send(i, {});
      Feed({.what = dt::Tick{}});
    }
    // A later start must read the same state from the journal.
    dt::State again;
    for (const std::string& record : journal_) {
      v1::Record read;
      if (!read.ParseFromString(record) || !dt::Apply(again.durable, read).ok()) std::abort();
    }
    dt::Recover(again, now_);
    state_ = std::move(again);
    for (uint32_t i = 0; i < kWorkers; ++i) {
      workers_[i].attempt.clear();
      Connect(i);
    }
  }

 private:
  static constexpr dt::JournalId kJournal = 7;
  static constexpr uint32_t kWorkers = 4;
  static constexpr int kTurns = 12;
  struct Worker {
    dt::StreamId stream = 0;
    uint64_t session = 0;
    uint64_t sequence = 1;
    std::string attempt;  // token of the attempt it works for; "": none
    v1::Assigned assigned;
    uint64_t step = 0;
    bool training = false;
  };

  void Feed(dt::Event event) {
    event.entropy = {++entropy_, 0};
    dt::Effects effects = dt::Step(state_, std::move(event), now_);
    for (const v1::Record& record : effects.records) {
      journal_.push_back(record.SerializeAsString());
    }
    for (const dt::OrdersOut& out : effects.orders) {
      for (Worker& worker : workers_) {
        if (worker.stream != out.stream) continue;
        const std::string token = out.orders.attempt().attempt_token();
        if (token == worker.attempt) continue;
        worker.attempt = token;
        worker.assigned = out.orders.attempt();
        worker.step = 0;
        worker.training = false;
      }
    }
  }
  template <typename Request>
  void Call(Request request) {
    dt::ClientCall call;
    call.reply = ++reply_;
    call.request = std::move(request);
    Feed({.what = std::move(call)});
  }

  void Connect(uint32_t i) {
    Worker& worker = workers_[i];
    worker.stream = ++streams_;
    v1::WorkerReport report;
    v1::Hello& hello = *report.mutable_hello();
    hello.set_worker(absl::StrCat("host/", i));
    hello.set_instance(1000 + i);
    hello.set_session(++worker.session);
    hello.set_device("cpu");
    hello.set_device_name("Cpu");
    hello.set_memory_bytes(uint64_t{1} << 36);
    hello.set_level(dt::kWorkerLevel);
    hello.set_host(i % 2 == 0 ? "one" : "two");
    hello.set_storage_id("st");
    hello.set_data_address("127.0.0.1");
    hello.set_programs(true);
    Send(i, std::move(report));
  }

  void Send(uint32_t i, v1::WorkerReport report) {
    Worker& worker = workers_[i];
    report.set_journal_id(kJournal);
    report.set_first_sequence(worker.sequence);
    if (!report.items().empty()) report.set_first_sequence(report.items(0).sequence());
    if (!worker.attempt.empty()) {
      v1::AttemptStatus& status = *report.add_attempts();
      status.set_attempt_token(worker.attempt);
      status.set_phase(worker.training ? v1::AttemptStatus::TRAINING
                                       : v1::AttemptStatus::PREPARING);
      status.set_rank(worker.assigned.rank());
      status.set_step(worker.step);
      status.mutable_prepared()->set_data_fingerprint("d");
      if (worker.assigned.rank() == 0) status.set_store_address("127.0.0.1:9");
    }
    auto totals = dt::CheckReport(
        report, report.has_hello() ? dt::ReportPlace::kFirstOfStream : dt::ReportPlace::kLater);
    if (!totals.ok()) return;
    Feed(
        {.what = dt::ReportReceived{worker.stream, "peer", std::move(report), *std::move(totals)}});
  }

  v1::Item Item(Worker& worker) {
    v1::Item item;
    item.set_sequence(worker.sequence++);
    item.set_attempt_token(worker.attempt);
    return item;
  }

  // Continues its attempt: prepares, evaluates and saves meanwhile, ends.
  void Work(uint32_t i) {
    Worker& worker = workers_[i];
    if (worker.attempt.empty() || worker.assigned.rank() != 0) return;
    v1::WorkerReport report;
    if (!worker.training) {
      v1::Item item = Item(worker);
      v1::Prepared& prepared = *item.mutable_prepared();
      const v1::Spec& spec = worker.assigned.spec();
      prepared.set_target_steps(drawing_.One(8) ? ~uint64_t{0} >> drawing_.Pick(63)
                                                : 1 + static_cast<uint64_t>(std::min<int64_t>(
                                                          spec.train().max_steps(), 1000)));
      prepared.set_data_fingerprint("d");
      prepared.set_train_tokens(~uint64_t{0} >> drawing_.Pick(63));
      *report.add_items() = item;
      item = Item(worker);
      item.mutable_running();
      *report.add_items() = item;
      worker.training = true;
      return Send(i, std::move(report));
    }
    worker.step += 1 + drawing_.Pick(40);
    v1::Item item = Item(worker);
    v1::Evaluation& evaluation = *item.mutable_evaluation();
    evaluation.set_step(worker.step);
    evaluation.set_loss(drawing_.Number({}));
    v1::Metric& metric = *evaluation.add_metrics();
    metric.set_name("loss");
    metric.set_value(evaluation.loss());
    *report.add_items() = item;
    if (drawing_.One(2)) {
      item = Item(worker);
      item.mutable_checkpoint()->set_step(worker.step);
      item.mutable_checkpoint()->set_storage_id("st");
      item.mutable_checkpoint()->set_path(absl::StrCat("p", worker.step));
      item.mutable_checkpoint()->set_manifest_hash("h");
      *report.add_items() = item;
    }
    const bool ends = drawing_.One(3);
    if (ends) {
      item = Item(worker);
      item.mutable_ended()->set_cause(drawing_.One(3)
                                          ? static_cast<v1::Cause>(drawing_.Pick(v1::Cause_MAX))
                                          : v1::CAUSE_FINISHED);
      item.mutable_ended()->set_step(worker.step);
      *report.add_items() = item;
    }
    Send(i, std::move(report));
    if (!ends) return;
    const std::string left = worker.attempt;
    for (Worker& each : workers_) {
      if (each.attempt == left) each.attempt.clear();
    }
    for (uint32_t other = 0; other < kWorkers; ++other) Send(other, {});
  }

  Choices& bytes_;
  Drawing& drawing_;
  dt::State state_;
  dt::Instant now_{absl::Seconds(1000), 1'000'000};
  std::vector<std::string> journal_;
  Worker workers_[kWorkers];
  dt::StreamId streams_ = 0;
  uint64_t entropy_ = 0;
  dt::ReplyId reply_ = 0;
};

// Calls the functions that see a message before it is checked, or one from a journal.
inline void Unchecked(const v1::ExperimentSpec& spec) {
  v1::ExperimentSpec frozen = spec;
  dt::spec::Freeze(frozen, "cpu", 1);
  const auto trial = dt::spec::ResolveTrial(spec, {});
  if (!trial.ok()) return;
  dt::spec::ReachableSizes(*trial);
  dt::spec::LargestSize(*trial);
  dt::spec::BubbleOf(*trial);
  dt::spec::ToYaml(*trial);
  dt::spec::ToJson(*trial);
}

inline void CheckPassed(const v1::ExperimentSpec& spec) {
  const auto trials = dt::spec::Expand(spec);
  if (!trials.ok()) std::abort();
  for (const v1::ExpandedTrial& one : *trials) {
    if (!dt::spec::ResolveTrial(spec, {one.assignments().begin(), one.assignments().end()}).ok()) {
      std::abort();
    }
  }
  dt::spec::RungsOf(spec);
  dt::spec::Warnings(spec);
  // A message may set fields that no file can: it must print and be read without a fault, but may
  // differ.
  dt::spec::ReadExperimentFile(dt::spec::ToYaml(spec), "printed.yaml");
}

// Returns whether the experiment was accepted.
inline bool Hunt(const uint8_t* data, size_t size) {
  Choices bytes(data, size);
  Drawing drawing(bytes);
  const v1::ExperimentSpec spec = drawing.Spec();
  Unchecked(spec);
  // A thousand drawn combinations take a second in this build: most are cut short.
  constexpr int kAsks = 60;
  int asks = 0;
  const bool whole = drawing.One(6);
  const dt::MayGoOn may_go_on = [&] { return whole || ++asks < kAsks; };
  if (dt::spec::Validate(spec, may_go_on).empty() && may_go_on()) CheckPassed(spec);
  asks = 0;
  v1::SubmitRequest request;
  *request.mutable_spec() = spec;
  Fleet fleet(bytes, drawing);
  const dt::PlanDraft draft = dt::PreparePlan(request, dt::DeviceKind::kCpu, 1, may_go_on);
  if (draft.refused.ok()) fleet.Plan(draft);
  asks = 0;
  dt::Submission submission = dt::PrepareSubmission(request, dt::DeviceKind::kCpu, 1, may_go_on);
  if (!submission.refused.ok()) return false;
  auto& parameters =
      *submission.record.mutable_experiment_submitted()->mutable_spec()->mutable_parameters();
  for (v1::Parameter& parameter : parameters) {
    if (!parameter.has_range() || !drawing.One(8)) continue;
    *parameter.mutable_range() = drawing.AnyRange(*dt::spec::FindField("optimizer.lr"));
  }
  fleet.Submit(std::move(submission));
  fleet.Run();
  return true;
}

}  // namespace dt::hunt
