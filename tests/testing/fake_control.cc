#include "tests/testing/fake_control.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace dt {
namespace {

grpc::Status NotFound(const std::string& what) {
  return {grpc::StatusCode::NOT_FOUND, absl::StrCat("there is no ", what)};
}

// Copies the page that `request` asks for; the token is the index of the next page's first item.
template <typename Item, typename Request, typename Response, typename Add>
void Page(const std::vector<Item>& all, int limit, const Request& request, Response* response,
          const Add& add) {
  int begin = 0;
  if (!request.page_token().empty()) DT_CHECK(absl::SimpleAtoi(request.page_token(), &begin));
  const int size = std::min(limit, request.page_size() > 0 ? request.page_size() : 100);
  const int end = std::min(static_cast<int>(all.size()), begin + size);
  for (int i = begin; i < end; ++i) add(all[i]);
  if (end < static_cast<int>(all.size())) response->set_next_page_token(absl::StrCat(end));
}

}  // namespace

FakeControl::FakeControl() {
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  DT_CHECK(server_ != nullptr && port != 0);
  address_ = absl::StrCat("127.0.0.1:", port);
}

FakeControl::~FakeControl() {
  server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server_->Wait();
}

void FakeControl::Edit(const std::function<void(World&)>& edit) {
  absl::MutexLock lock(&mutex_);
  edit(world_);
}

FakeControl::World FakeControl::Snapshot() {
  absl::MutexLock lock(&mutex_);
  return world_;
}

void FakeControl::SetCallHook(Hook hook) {
  absl::MutexLock lock(&mutex_);
  hook_ = std::move(hook);
}

grpc::Status FakeControl::Begin(std::string_view method) {
  const int count = ++counts_[std::string(method)];
  return hook_ ? hook_(method, count, world_) : grpc::Status::OK;
}

template <typename Request>
FakeControl::Experiment* FakeControl::Find(const Request& request) {
  if (world_.experiments.empty()) return nullptr;
  if (request.last()) return &world_.experiments.rbegin()->second;
  const auto found = world_.experiments.find(request.experiment());
  return found == world_.experiments.end() ? nullptr : &found->second;
}

grpc::Status FakeControl::Submit(Context*, const v1::SubmitRequest* request,
                                 v1::SubmitResponse* response) {
  absl::MutexLock lock(&mutex_);
  world_.submissions.push_back(*request);
  if (grpc::Status status = Begin("Submit"); !status.ok()) return status;
  *response = world_.submit_answer;
  if (request->dry_run()) return grpc::Status::OK;
  const auto known = world_.request_ids.find(request->request_id());
  if (known != world_.request_ids.end()) {
    response->set_experiment(known->second);
    response->set_existed(true);
    return grpc::Status::OK;
  }
  const uint64_t id = world_.experiments.empty() ? 1 : world_.experiments.rbegin()->first + 1;
  world_.request_ids[request->request_id()] = id;
  Experiment& experiment = world_.experiments[id];
  *experiment.found.mutable_spec() = request->spec();
  experiment.found.set_file_text(request->file_text());
  experiment.found.set_file_name(request->file_name());
  experiment.found.mutable_summary()->set_experiment(id);
  experiment.found.mutable_summary()->set_name(request->spec().name());
  experiment.found.mutable_summary()->set_state(v1::EXPERIMENT_QUEUED);
  response->set_experiment(id);
  return grpc::Status::OK;
}

grpc::Status FakeControl::Plan(Context*, const v1::PlanRequest* request,
                               v1::PlanResponse* response) {
  absl::MutexLock lock(&mutex_);
  world_.plans.push_back(*request);
  if (grpc::Status status = Begin("Plan"); !status.ok()) return status;
  *response = world_.plan_answer;
  return grpc::Status::OK;
}

grpc::Status FakeControl::ListExperiments(Context*, const v1::ListExperimentsRequest* request,
                                          v1::ListExperimentsResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ListExperiments"); !status.ok()) return status;
  world_.experiment_lists.push_back(*request);
  std::vector<v1::ExperimentSummary> chosen;
  const auto matches = [&](const v1::ExperimentSummary& one) {
    return std::all_of(request->labels().begin(), request->labels().end(), [&](const auto& want) {
      return std::any_of(one.labels().begin(), one.labels().end(), [&](const auto& label) {
        return label.key() == want.key() && label.value() == want.value();
      });
    });
  };
  if (request->last() || request->experiment() != 0) {
    if (Experiment* one = Find(*request)) chosen.push_back(one->found.summary());
  } else {
    for (const auto& [id, one] : world_.experiments) {
      if (matches(one.found.summary())) chosen.push_back(one.found.summary());
    }
  }
  Page(chosen, world_.page_limit, *request, response,
       [&](const auto& one) { *response->add_experiments() = one; });
  return grpc::Status::OK;
}

grpc::Status FakeControl::GetExperiment(Context*, const v1::GetExperimentRequest* request,
                                        v1::GetExperimentResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("GetExperiment"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  *response = found->found;
  return grpc::Status::OK;
}

grpc::Status FakeControl::ListTrials(Context*, const v1::ListTrialsRequest* request,
                                     v1::ListTrialsResponse* response) {
  absl::MutexLock lock(&mutex_);
  world_.trial_lists.push_back(*request);
  if (grpc::Status status = Begin("ListTrials"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  std::vector<v1::TrialSummary> chosen;
  for (const v1::TrialSummary& trial : found->trials) {
    if (request->trial() != 0 && trial.trial() != request->trial()) continue;
    const auto& states = request->states();
    if (!states.empty() && std::count(states.begin(), states.end(), trial.state()) == 0) continue;
    chosen.push_back(trial);
  }
  if (request->trial() != 0 && chosen.empty()) {
    return NotFound(absl::StrCat("trial ", request->experiment(), "/", request->trial()));
  }
  Page(chosen, world_.page_limit, *request, response,
       [&](const auto& one) { *response->add_trials() = one; });
  return grpc::Status::OK;
}

grpc::Status FakeControl::ListWorkers(Context*, const v1::ListWorkersRequest* request,
                                      v1::ListWorkersResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ListWorkers"); !status.ok()) return status;
  Page(world_.workers, world_.page_limit, *request, response,
       [&](const auto& one) { *response->add_workers() = one; });
  return grpc::Status::OK;
}

grpc::Status FakeControl::ListCheckpoints(Context*, const v1::ListCheckpointsRequest* request,
                                          v1::ListCheckpointsResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ListCheckpoints"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  std::vector<v1::CheckpointSummary> chosen;
  for (const auto& one : found->checkpoints) {
    if (request->trial() == 0 || one.trial() == request->trial()) chosen.push_back(one);
  }
  Page(chosen, world_.page_limit, *request, response,
       [&](const auto& one) { *response->add_checkpoints() = one; });
  return grpc::Status::OK;
}

grpc::Status FakeControl::ExplainTrial(Context*, const v1::ExplainTrialRequest* request,
                                       v1::ExplainTrialResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ExplainTrial"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr || found->explanations.count(request->trial()) == 0) {
    return NotFound(absl::StrCat("trial ", request->experiment(), "/", request->trial()));
  }
  *response = found->explanations[request->trial()];
  return grpc::Status::OK;
}

grpc::Status FakeControl::ReadMetrics(Context*, const v1::ReadMetricsRequest* request,
                                      v1::ReadMetricsResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ReadMetrics"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  const auto wanted = [&](const auto& row) {
    return (request->trial() == 0 || row.trial() == request->trial()) &&
           (request->all_attempts() || !row.superseded());
  };
  std::vector<v1::MetricRow> rows;
  std::copy_if(found->rows.begin(), found->rows.end(), std::back_inserter(rows), wanted);
  if (request->page_token().empty()) {
    for (const auto& one : found->evaluations) {
      if (wanted(one)) *response->add_evaluations() = one;
    }
  }
  Page(rows, world_.page_limit, *request, response,
       [&](const auto& one) { *response->add_rows() = one; });
  return grpc::Status::OK;
}

grpc::Status FakeControl::ReadLogs(Context*, const v1::ReadLogsRequest* request,
                                   v1::ReadLogsResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("ReadLogs"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  int begin = 0;
  if (!request->page_token().empty()) DT_CHECK(absl::SimpleAtoi(request->page_token(), &begin));
  const int end = std::min(static_cast<int>(found->logs.size()), begin + world_.page_limit);
  for (int i = begin; i < end; ++i) {
    const v1::LogLineChunk& one = found->logs[i];
    if (request->rank() < 0 || one.log().rank() == request->rank()) *response->add_chunks() = one;
  }
  response->set_next_page_token(absl::StrCat(end));
  response->set_at_end(end == static_cast<int>(found->logs.size()));
  return grpc::Status::OK;
}

grpc::Status FakeControl::Cancel(Context*, const v1::CancelRequest* request,
                                 v1::CancelResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("Cancel"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  world_.cancellations.push_back(*request);
  response->set_experiment(found->found.summary().experiment());
  for (v1::TrialSummary& trial : found->trials) {
    if (request->trial() != 0 && trial.trial() != request->trial()) continue;
    if (trial.state() >= v1::TRIAL_FINISHED) continue;
    trial.set_state(v1::TRIAL_CANCELLED);
    response->set_trials(response->trials() + 1);
  }
  return grpc::Status::OK;
}

grpc::Status FakeControl::Retry(Context*, const v1::RetryRequest* request,
                                v1::RetryResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("Retry"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  world_.retries.push_back(*request);
  response->set_experiment(found->found.summary().experiment());
  for (v1::TrialSummary& trial : found->trials) {
    if (!request->failed() || trial.state() != v1::TRIAL_FAILED) continue;
    trial.set_state(v1::TRIAL_PENDING);
    response->set_trials(response->trials() + 1);
  }
  return grpc::Status::OK;
}

grpc::Status FakeControl::Change(Context*, const v1::ChangeRequest* request,
                                 v1::ChangeResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("Change"); !status.ok()) return status;
  Experiment* found = Find(*request);
  if (found == nullptr) return NotFound(absl::StrCat("experiment ", request->experiment()));
  world_.changes.push_back(*request);
  v1::ExperimentSummary& summary = *found->found.mutable_summary();
  response->set_experiment(summary.experiment());
  if (request->has_max_concurrent()) {
    v1::Search& search = *found->found.mutable_spec()->mutable_search();
    const auto most = static_cast<int32_t>(request->max_concurrent());
    response->set_changed(search.max_concurrent() != most);
    search.set_max_concurrent(most);
    return grpc::Status::OK;
  }
  if (request->has_max_trials()) {
    response->set_changed(summary.planned_trials() != request->max_trials());
    response->set_trials(request->max_trials());
    summary.set_planned_trials(request->max_trials());
    return grpc::Status::OK;
  }
  if (!request->has_pause() && !request->has_resume()) {
    response->set_changed(true);
    response->set_stopping(request->has_max_steps() ? 1 : 0);
    return grpc::Status::OK;
  }
  response->set_changed(summary.paused() != request->has_pause());
  summary.set_paused(request->has_pause());
  summary.set_paused_by(request->who());
  if (request->has_pause() && !request->pause().let_run()) {
    for (const v1::TrialSummary& trial : found->trials) {
      if (trial.state() == v1::TRIAL_RUNNING) response->set_stopping(response->stopping() + 1);
    }
  }
  return grpc::Status::OK;
}

grpc::Status FakeControl::Delete(Context*, const v1::DeleteRequest* request,
                                 v1::DeleteResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("Delete"); !status.ok()) return status;
  const auto found = world_.experiments.find(request->experiment());
  if (found == world_.experiments.end()) {
    return NotFound(absl::StrCat("experiment ", request->experiment()));
  }
  for (const auto& one : found->second.checkpoints) *response->add_left_behind() = one;
  world_.deletions.push_back(*request);
  world_.experiments.erase(found);
  return grpc::Status::OK;
}

grpc::Status FakeControl::MarkWorker(Context*, const v1::MarkWorkerRequest* request,
                                     v1::MarkWorkerResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("MarkWorker"); !status.ok()) return status;
  world_.marks.push_back(*request);
  for (v1::WorkerSummary& worker : world_.workers) {
    if (worker.worker() != request->worker()) continue;
    response->set_known(true);
    response->set_stopping(request->drain() && !worker.doing().empty() ? 1 : 0);
  }
  response->set_changed(true);
  return grpc::Status::OK;
}

grpc::Status FakeControl::GetStatus(Context*, const v1::GetStatusRequest*,
                                    v1::GetStatusResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("GetStatus"); !status.ok()) return status;
  *response = world_.status;
  return grpc::Status::OK;
}

grpc::Status FakeControl::PutCode(Context*, const v1::PutCodeRequest* request,
                                  v1::PutCodeResponse* response) {
  absl::MutexLock lock(&mutex_);
  if (grpc::Status status = Begin("PutCode"); !status.ok()) return status;
  world_.code.push_back(*request);
  std::set<uint32_t> there;
  size_t parts = 1;
  for (const v1::PutCodeRequest& part : world_.code) {
    if (part.digest() != request->digest() || part.data().empty()) continue;
    there.insert(part.part());
    parts = part.parts();
  }
  response->set_complete(there.size() == parts);
  return grpc::Status::OK;
}

}  // namespace dt
