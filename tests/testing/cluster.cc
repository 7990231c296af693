// cluster.cc: starts programs, makes calls and waits.
#include "tests/testing/cluster.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace dt::testing {
namespace {

constexpr std::chrono::seconds kCallDeadline{5};

}  // namespace

Cluster::Cluster(Programs programs, Transport transport)
    : programs_(std::move(programs)), transport_(transport) {
  if (transport_ == Transport::kTls) {
    certificates_ = std::make_unique<Certificates>(folder_.path());
  }
  address_ = transport_ == Transport::kUnixSocket ? "unix:" + folder_.path() + "/coordinator"
                                                  : "127.0.0.1:0";
  http_address_ = "127.0.0.1:0";
}

void Cluster::StartCoordinator(const std::string& http) {
  const std::string addresses = folder_ / "addresses.json";
  std::error_code ignored;
  std::filesystem::remove(addresses, ignored);
  std::vector<std::string> command = {
      programs_.coordinator, "--listen",        address_,           "--http", http,
      "--state-dir",         folder_ / "state", "--addresses-file", addresses};
  if (certificates_) {
    for (const std::string& flag : certificates_->server().Flags()) command.push_back(flag);
  }
  command.insert(command.end(), coordinator_flags_.begin(), coordinator_flags_.end());
  coordinator_ = ChildProcess(command, folder_ / "coordinator.log");
  ASSERT_TRUE(Await([&] { return std::filesystem::exists(addresses) || !coordinator_.Running(); }));
  ASSERT_TRUE(coordinator_.Running()) << Slurp(folder_ / "coordinator.log");
  const auto json = nlohmann::json::parse(Slurp(addresses), nullptr, false);
  ASSERT_TRUE(json.is_object());
  if (transport_ != Transport::kUnixSocket) address_ = json.value("grpc", "");
  http_address_ = json.value("http", "");
  control_ = v1::Control::NewStub(MakeChannel(certificates_ ? &certificates_->client() : nullptr));
}

void Cluster::StartWorker(const std::string& name, const std::vector<std::string>& flags,
                          const std::map<std::string, std::string>& env) {
  std::vector<std::string> command = {
      programs_.worker,  "--coordinator", address_,    "--name",    name,
      "--slot",          "cpu",           "--threads", "1",         "--trainer",
      programs_.trainer, "--storage",     storage(),   "--run-dir", folder_ / "run",
      "--data-root",     folder_ / "data"};
  if (certificates_) {
    for (const std::string& flag : certificates_->client().Flags()) command.push_back(flag);
  }
  command.insert(command.end(), flags.begin(), flags.end());
  workers_[name] = ChildProcess(command, folder_ / (name + ".log"), env);
}

pid_t Cluster::TrainerOf(const std::string& name) const {
  const auto children = ChildrenOf(workers_.at(name).pid());
  return children.empty() ? -1 : children.front();
}

pid_t Cluster::AwaitTrainerOf(const std::string& name) const {
  pid_t trainer = -1;
  EXPECT_TRUE(Await([&] { return (trainer = TrainerOf(name)) > 0; })) << name << " has no trainer";
  return trainer;
}

std::vector<pid_t> Cluster::LivingTrainers() {
  for (const auto& [name, worker] : workers_) {
    if (worker.pid() <= 0) continue;
    for (const pid_t pid : ChildrenOf(worker.pid())) trainers_seen_.push_back(pid);
  }
  std::vector<pid_t> living;
  for (const pid_t pid : trainers_seen_) {
    const bool known = std::find(living.begin(), living.end(), pid) != living.end();
    if (!known && ProcessAlive(pid)) living.push_back(pid);
  }
  trainers_seen_ = living;
  return living;
}

std::vector<std::string> Cluster::ClientFlags() const {
  std::vector<std::string> flags = {"--address", address_};
  if (certificates_) {
    for (const std::string& flag : certificates_->client().Flags()) flags.push_back(flag);
  }
  return flags;
}

std::shared_ptr<grpc::Channel> Cluster::MakeChannel(const CertificateFiles* files) const {
  grpc::ChannelArguments arguments;
  // A killed coordinator comes back soon, and the test waits for it.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  // Also the time that an attempt to connect may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  auto credentials = grpc::InsecureChannelCredentials();
  if (files != nullptr) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = Slurp(files->ca);
    options.pem_cert_chain = Slurp(files->cert);
    options.pem_private_key = Slurp(files->key);
    credentials = grpc::SslCredentials(options);
  }
  return grpc::CreateCustomChannel(address_, credentials, arguments);
}

std::unique_ptr<v1::Control::Stub> Cluster::ControlWith(const CertificateFiles& files) const {
  return v1::Control::NewStub(MakeChannel(&files));
}

template <typename Request, typename Response>
Response Cluster::Call(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
                       const Request& request) {
  Response response;
  grpc::Status status;
  Await([&] {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    context.set_wait_for_ready(true);
    response.Clear();
    status = ((*control_).*method)(&context, request, &response);
    // No answer while the coordinator restarts: nobody knows whether the call arrived, and every
    // call may be repeated.
    return status.error_code() != grpc::StatusCode::UNAVAILABLE &&
           status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED;
  });
  EXPECT_TRUE(status.ok()) << request.GetTypeName() << ": " << status.error_message();
  return response;
}

uint64_t Cluster::Submit(const v1::ExperimentSpec& spec, const std::string& request_id) {
  static int count = 0;
  v1::SubmitRequest request;
  request.set_request_id(request_id.empty() ? "request-" + std::to_string(++count) : request_id);
  *request.mutable_spec() = spec;
  request.set_file_name("test.yaml");
  return Call(&v1::Control::Stub::Submit, request).experiment();
}

void Cluster::Cancel(uint64_t experiment, uint32_t trial) {
  v1::CancelRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  Call(&v1::Control::Stub::Cancel, request);
}

void Cluster::Retry(uint64_t experiment) {
  v1::RetryRequest request;
  request.set_experiment(experiment);
  request.set_failed(true);
  Call(&v1::Control::Stub::Retry, request);
}

v1::TrialSummary Cluster::Trial(uint64_t experiment, uint32_t trial) {
  v1::ListTrialsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  const auto response = Call(&v1::Control::Stub::ListTrials, request);
  return response.trials().empty() ? v1::TrialSummary() : response.trials(0);
}

v1::ExperimentSummary Cluster::Experiment(uint64_t experiment) {
  v1::ListExperimentsRequest request;
  request.set_experiment(experiment);
  const auto response = Call(&v1::Control::Stub::ListExperiments, request);
  return response.experiments().empty() ? v1::ExperimentSummary() : response.experiments(0);
}

v1::GetExperimentResponse Cluster::Described(uint64_t experiment) {
  v1::GetExperimentRequest request;
  request.set_experiment(experiment);
  return Call(&v1::Control::Stub::GetExperiment, request);
}

void Cluster::SetQuota(const std::string& label, uint32_t slots, const std::string& who) {
  v1::SetQuotaRequest request;
  request.set_label(label);
  request.set_slots(slots);
  request.set_who(who);
  Call(&v1::Control::Stub::SetQuota, request);
}

v1::ExplainTrialResponse Cluster::Explain(uint64_t experiment, uint32_t trial) {
  v1::ExplainTrialRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  return Call(&v1::Control::Stub::ExplainTrial, request);
}

std::vector<v1::WorkerSummary> Cluster::Workers() {
  const auto response = Call(&v1::Control::Stub::ListWorkers, v1::ListWorkersRequest());
  return {response.workers().begin(), response.workers().end()};
}

std::vector<v1::CheckpointSummary> Cluster::Checkpoints(uint64_t experiment) {
  v1::ListCheckpointsRequest request;
  request.set_experiment(experiment);
  const auto response = Call(&v1::Control::Stub::ListCheckpoints, request);
  return {response.checkpoints().begin(), response.checkpoints().end()};
}

std::map<uint64_t, int> Cluster::ValidRows(uint64_t experiment, uint32_t trial) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  std::map<uint64_t, int> count;
  do {
    const auto page = Call(&v1::Control::Stub::ReadMetrics, request);
    for (const v1::MetricRow& row : page.rows()) ++count[row.row().step()];
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return count;
}

std::string Cluster::RowsByAttempt(uint64_t experiment, uint32_t trial) {
  v1::ReadMetricsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  request.set_all_attempts(true);
  std::map<uint32_t, std::string> steps;  // by attempt
  do {
    const auto page = Call(&v1::Control::Stub::ReadMetrics, request);
    for (const v1::MetricRow& row : page.rows()) {
      steps[row.attempt()] += (row.superseded() ? " -" : " ") + std::to_string(row.row().step());
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  std::string text;
  for (const auto& [attempt, list] : steps) {
    text += "attempt " + std::to_string(attempt) + ":" + list + "\n";
  }
  return text;
}

v1::ReadLogsResponse Cluster::LogPage(const v1::ReadLogsRequest& request) {
  return Call(&v1::Control::Stub::ReadLogs, request);
}

std::string Cluster::Logs(uint64_t experiment, uint32_t trial) {
  v1::ReadLogsRequest request;
  request.set_experiment(experiment);
  request.set_trial(trial);
  request.set_rank(-1);
  std::string text;
  for (;;) {
    const v1::ReadLogsResponse page = LogPage(request);
    for (const auto& chunk : page.chunks()) text += chunk.log().text();
    if (page.at_end() || page.chunks().empty()) return text;
    request.set_page_token(page.next_page_token());
  }
}

bool Cluster::AwaitTrial(uint64_t experiment, uint32_t trial, v1::TrialState state,
                         std::chrono::milliseconds limit) {
  v1::TrialSummary last;
  const bool reached =
      Await([&] { return (last = Trial(experiment, trial)).state() == state; }, limit);
  EXPECT_TRUE(reached) << "trial " << experiment << "/" << trial << " is "
                       << v1::TrialState_Name(last.state()) << " " << v1::Cause_Name(last.cause())
                       << " " << last.message() << " " << last.waiting() << ", not "
                       << v1::TrialState_Name(state);
  return reached;
}

bool Cluster::AwaitStep(uint64_t experiment, uint32_t trial, uint64_t step,
                        std::chrono::milliseconds limit) {
  v1::TrialSummary last;
  const bool reached =
      Await([&] { return (last = Trial(experiment, trial)).step() >= step; }, limit);
  EXPECT_TRUE(reached) << "trial " << experiment << "/" << trial << " is at step " << last.step()
                       << " of " << step << ", " << v1::TrialState_Name(last.state()) << " "
                       << last.message();
  return reached;
}

bool Cluster::AwaitEnd(uint64_t experiment, std::chrono::milliseconds limit) {
  v1::ExperimentSummary last;
  const bool ended = Await(
      [&] {
        last = Experiment(experiment);
        return last.state() == v1::EXPERIMENT_FINISHED || last.state() == v1::EXPERIMENT_FAILED ||
               last.state() == v1::EXPERIMENT_CANCELLED;
      },
      limit);
  EXPECT_TRUE(ended) << last.ShortDebugString();
  return ended;
}

bool Cluster::AwaitWorkers(size_t count, std::chrono::milliseconds limit) {
  std::vector<v1::WorkerSummary> last;
  const bool reached = Await(
      [&] {
        last = Workers();
        return static_cast<size_t>(std::count_if(last.begin(), last.end(), [](const auto& worker) {
                 return worker.state() == "idle" || worker.state() == "busy";
               })) == count;
      },
      limit);
  EXPECT_TRUE(reached) << last.size() << " workers known, " << count << " expected to be up";
  return reached;
}

}  // namespace dt::testing
