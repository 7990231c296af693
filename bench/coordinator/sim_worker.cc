// sim_worker.cc: reads orders, sends reports.
#include "bench/coordinator/sim_worker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/worker_level.h"
#include "grpcpp/channel.h"

namespace dt::bench {

SimWorker::SimWorker(Fleet& fleet, std::shared_ptr<grpc::Channel> channel, int number)
    : fleet_(fleet), stub_(v1::Fleet::NewStub(std::move(channel))), number_(number) {}

void SimWorker::Connect() {
  stub_->async()->Session(&context_, this);
  {
    MutexLock lock(&mutex_);
    v1::Hello& hello = *next_.mutable_hello();
    hello.set_worker(absl::StrCat("sim", number_ / 8, "/", number_ % 8));
    hello.set_host(absl::StrCat("sim", number_ / 8));
    hello.set_instance(static_cast<uint64_t>(number_) + 1);
    hello.set_session(1);
    hello.set_device("cpu");
    hello.set_level(kWorkerLevel);
    hello.set_storage_id("bench");
    due_ = true;
    WriteNext();
  }
  AddHold();  // Stop ends the stream from outside the reactor
  StartRead(&orders_);
  StartCall();
}

void SimWorker::Heartbeat() {
  MutexLock lock(&mutex_);
  due_ = true;
  WriteNext();
}

bool SimWorker::SendRows() {
  MutexLock lock(&mutex_);
  if (!holds_ || rows_sequence_ != 0) return false;
  AddRows();
  WriteNext();
  return true;
}

std::vector<double> SimWorker::TakeLatencies() {
  MutexLock lock(&mutex_);
  return std::exchange(latencies_, {});
}

void SimWorker::Stop() {
  context_.TryCancel();
  RemoveHold();
  MutexLock lock(&mutex_);
  while (!done_) changed_.WaitFor(&mutex_, absl::Seconds(10));
}

void SimWorker::OnReadDone(bool ok) {
  if (!ok) return;
  {
    MutexLock lock(&mutex_);
    journal_ = orders_.journal_id();
    TakeAcked(orders_.acked_sequence());
    const v1::Assigned& assigned = orders_.attempt();
    if (!orders_.has_attempt() || assigned.abandon() || assigned.kill()) {
      if (holds_) fleet_.training.fetch_sub(1);
      if (holds_) due_ = true;
      holds_ = false;
      rows_sequence_ = 0;
    } else if (assigned.attempt_token() != token_) {
      FollowAssigned(assigned.attempt_token());
    }
    WriteNext();
  }
  StartRead(&orders_);
}

void SimWorker::FollowAssigned(const std::string& token) {
  token_ = token;
  step_ = 0;
  v1::Prepared& prepared = *AddItem().mutable_prepared();
  target_ = static_cast<uint64_t>(orders_.attempt().spec().train().max_steps());
  prepared.set_target_steps(target_);
  prepared.set_data_fingerprint("bench");
  AddItem().mutable_running()->set_resumed_step(0);
  due_ = true;
  if (fleet_.conduct.load() == Conduct::kFinishAtOnce) {
    v1::Ended& ended = *AddItem().mutable_ended();
    ended.set_cause(v1::CAUSE_FINISHED);
    ended.set_step(target_);
    v1::AttemptStatus& gone = *next_.add_attempts();
    gone.set_attempt_token(token_);
    gone.set_phase(v1::AttemptStatus::GONE);
    fleet_.trials_ended.fetch_add(1);
    return;
  }
  holds_ = true;
  fleet_.training.fetch_add(1);
  if (fleet_.conduct.load() == Conduct::kStreamRows) AddRows();
}

void SimWorker::TakeAcked(uint64_t sequence) {
  acked_ = sequence;
  if (rows_sequence_ == 0 || acked_ < rows_sequence_) return;
  rows_sequence_ = 0;
  fleet_.rows_acked.fetch_add(static_cast<uint64_t>(fleet_.rows_per_report));
  latencies_.push_back(absl::ToDoubleSeconds(absl::Now() - rows_sent_));
  if (fleet_.conduct.load() == Conduct::kStreamRows && holds_) AddRows();
}

v1::Item& SimWorker::AddItem() {
  v1::Item& item = *next_.add_items();
  item.set_sequence(++sequence_);
  item.set_attempt_token(token_);
  return item;
}

void SimWorker::AddRows() {
  v1::StepRows rows;
  for (int i = 0; i < fleet_.rows_per_report; ++i) {
    v1::StepRow& row = *rows.add_rows();
    row.set_step(++step_);
    row.set_loss(3.25);
    row.set_learning_rate(6e-4);
    row.set_grad_norm(1.125);
    row.set_tokens(4096);
    row.set_seconds(0.125);
    row.set_data_seconds(0.001);
    row.set_forward_seconds(0.03);
    row.set_backward_seconds(0.06);
    row.set_comm_exposed_seconds(0.01);
    row.set_optimizer_seconds(0.02);
    row.set_allreduce_seconds(0.04);
    row.set_allreduce_bytes(152e6);
    row.set_allreduce_count(7);
    row.set_memory_peak_bytes(1e9);
    row.set_wall_time_ms(1'700'000'000'000);
    row.set_steps(1);
  }
  v1::RowChunk& chunk = *AddItem().mutable_rows();
  chunk.set_first_step(step_ - static_cast<uint64_t>(fleet_.rows_per_report) + 1);
  chunk.set_last_step(step_);
  chunk.set_count(static_cast<uint32_t>(fleet_.rows_per_report));
  chunk.set_rows(rows.SerializeAsString());
  rows_sequence_ = sequence_;
  rows_sent_ = absl::Now();
  due_ = true;
}

void SimWorker::WriteNext() {
  if (writing_ || !due_ || done_) return;
  if (holds_) {
    v1::AttemptStatus& status = *next_.add_attempts();
    status.set_attempt_token(token_);
    status.set_phase(v1::AttemptStatus::TRAINING);
    status.set_step(step_);
  }
  next_.set_journal_id(journal_);
  next_.set_trainer(holds_ ? v1::WorkerReport::TRAINER_BUSY : v1::WorkerReport::TRAINER_IDLE);
  sending_ = std::move(next_);
  next_ = v1::WorkerReport();
  due_ = false;
  writing_ = true;
  StartWrite(&sending_);
}

void SimWorker::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  writing_ = false;
  if (ok) WriteNext();
}

void SimWorker::OnDone(const grpc::Status& status) {
  MutexLock lock(&mutex_);
  if (status.error_code() != grpc::StatusCode::CANCELLED) fleet_.lost.fetch_add(1);
  done_ = true;
  changed_.NotifyAll();
}

}  // namespace dt::bench
