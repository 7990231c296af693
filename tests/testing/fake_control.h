// fake_control.h: a Control service without a coordinator behind it: clients find what tests put
// in. It listens on loopback, on a port that the system chooses.
//
// Threads: gRPC's threads answer; Edit and the accessors may be called from the test's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "dtrain/v1/control.grpc.pb.h"
#include "grpcpp/server.h"

namespace dt {

namespace v1 = ::dtrain::v1;

class FakeControl final : public v1::Control::Service {
 public:
  struct Experiment {
    v1::GetExperimentResponse found;  // lists show found.summary
    std::vector<v1::TrialSummary> trials;
    std::map<uint32_t, v1::ExplainTrialResponse> explanations;  // key: trial
    std::vector<v1::CheckpointSummary> checkpoints;
    std::vector<v1::MetricRow> rows;
    std::vector<v1::EvaluationRow> evaluations;
    std::vector<v1::LogLineChunk> logs;
  };
  struct World {
    std::map<uint64_t, Experiment> experiments;
    std::vector<v1::WorkerSummary> workers;
    std::map<std::string, uint64_t> request_ids;
    v1::GetStatusResponse status;
    v1::PlanResponse plan_answer;
    std::vector<v1::PlanRequest> plans;
    v1::SubmitResponse submit_answer;  // trials, device and note of the next submissions
    std::vector<v1::SubmitRequest> submissions;
    std::vector<v1::ListExperimentsRequest> experiment_lists;
    std::vector<v1::ListTrialsRequest> trial_lists;
    std::vector<v1::CancelRequest> cancellations;
    std::vector<v1::RetryRequest> retries;
    std::vector<v1::ChangeRequest> changes;
    std::vector<v1::DeleteRequest> deletions;
    std::vector<v1::MarkWorkerRequest> marks;
    std::vector<v1::PutCodeRequest> code;  // parts; the last of them completes the code
    int page_limit = 1000;                 // small, so that every list needs several calls
  };

  FakeControl();
  ~FakeControl() override;

  const std::string& address() const { return address_; }
  void Edit(const std::function<void(World&)>& edit);
  World Snapshot();

  // Runs before each call is answered, with the call's method and the number of calls of it so far,
  // this one included. A status other than OK becomes the answer. It may change the world.
  using Hook = std::function<grpc::Status(std::string_view method, int count, World& world)>;
  void SetCallHook(Hook hook);

 private:
  using Context = grpc::ServerContext;
  grpc::Status Submit(Context*, const v1::SubmitRequest*, v1::SubmitResponse*) override;
  grpc::Status ListExperiments(Context*, const v1::ListExperimentsRequest*,
                               v1::ListExperimentsResponse*) override;
  grpc::Status GetExperiment(Context*, const v1::GetExperimentRequest*,
                             v1::GetExperimentResponse*) override;
  grpc::Status ListTrials(Context*, const v1::ListTrialsRequest*, v1::ListTrialsResponse*) override;
  grpc::Status ListWorkers(Context*, const v1::ListWorkersRequest*,
                           v1::ListWorkersResponse*) override;
  grpc::Status ListCheckpoints(Context*, const v1::ListCheckpointsRequest*,
                               v1::ListCheckpointsResponse*) override;
  grpc::Status ExplainTrial(Context*, const v1::ExplainTrialRequest*,
                            v1::ExplainTrialResponse*) override;
  grpc::Status ReadMetrics(Context*, const v1::ReadMetricsRequest*,
                           v1::ReadMetricsResponse*) override;
  grpc::Status ReadLogs(Context*, const v1::ReadLogsRequest*, v1::ReadLogsResponse*) override;
  grpc::Status Cancel(Context*, const v1::CancelRequest*, v1::CancelResponse*) override;
  grpc::Status Retry(Context*, const v1::RetryRequest*, v1::RetryResponse*) override;
  grpc::Status Change(Context*, const v1::ChangeRequest*, v1::ChangeResponse*) override;
  grpc::Status Delete(Context*, const v1::DeleteRequest*, v1::DeleteResponse*) override;
  grpc::Status MarkWorker(Context*, const v1::MarkWorkerRequest*, v1::MarkWorkerResponse*) override;
  grpc::Status GetStatus(Context*, const v1::GetStatusRequest*, v1::GetStatusResponse*) override;
  grpc::Status PutCode(Context*, const v1::PutCodeRequest*, v1::PutCodeResponse*) override;
  grpc::Status Plan(Context*, const v1::PlanRequest*, v1::PlanResponse*) override;

  grpc::Status Begin(std::string_view method) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the experiment of a request with `experiment` and `last`, or null.
  template <typename Request>
  Experiment* Find(const Request& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  World world_ ABSL_GUARDED_BY(mutex_);
  Hook hook_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int, std::less<>> counts_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace dt
