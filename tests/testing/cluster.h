// cluster.h: a real dtcoord and real dtworkers on loopback, for end-to-end tests.
//
// Ownership: every process it starts; the destructor ends them all. It signals no other process.
// Threads:   the test's thread.
// Bounds:    every wait has a deadline (kPatience by default).
// Use:       Cluster cluster(Programs{…}); cluster.StartCoordinator(); cluster.StartWorker("w0");
//            const uint64_t experiment = cluster.Submit(builder.spec()); cluster.AwaitEnd(…)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtrain/v1/control.grpc.pb.h"
#include "tests/testing/certificates.h"
#include "tests/testing/child_process.h"
#include "tests/testing/temp_folder.h"

namespace dt::testing {

namespace v1 = ::dtrain::v1;

struct Programs {
  std::string coordinator;
  std::string worker;
  std::string trainer;
};

// The connection between the programs.
enum class Transport {
  kUnixSocket,  // not encrypted; the address outlives the coordinator
  kTls,         // TCP with certificates on both sides; the system chooses the port once
  kClearTcp,    // the same without certificates
};

class Cluster {
 public:
  explicit Cluster(Programs programs, Transport transport = Transport::kUnixSocket);

  const TempFolder& folder() const { return folder_; }
  std::string storage() const { return folder_ / "storage"; }
  const Certificates& certificates() const { return *certificates_; }
  std::string address() const { return address_; }            // gRPC address, known after the start
  std::string http_address() const { return http_address_; }  // host:port of /metrics

  // ---- processes ----
  // Starts the coordinator, or restarts it at the same address, and waits until it answers. `http`:
  // the address of the web page; an open page looks for a restarted coordinator at its old address.
  void StartCoordinator(const std::string& http = "127.0.0.1:0");
  // Uses these programs for every later start.
  void SetPrograms(Programs programs) { programs_ = std::move(programs); }
  // Adds these flags behind the others at every later start.
  void SetCoordinatorFlags(std::vector<std::string> flags) {
    coordinator_flags_ = std::move(flags);
  }
  ChildProcess& coordinator() { return coordinator_; }
  void KillCoordinator() { coordinator_.KillAndReap(); }
  // All workers share one storage, unless `flags`, which come last, name another.
  void StartWorker(const std::string& name, const std::vector<std::string>& flags = {},
                   const std::map<std::string, std::string>& env = {});
  ChildProcess& worker(const std::string& name) { return workers_.at(name); }
  // Returns the trainer that this worker runs now, or -1.
  pid_t TrainerOf(const std::string& name) const;
  pid_t AwaitTrainerOf(const std::string& name) const;
  // Returns every process that was ever seen as a trainer here and still lives. Each call looks for
  // new ones.
  std::vector<pid_t> LivingTrainers();
  // Returns --address and the TLS flags for another program that calls this cluster.
  std::vector<std::string> ClientFlags() const;

  // ---- calls; a refusal fails the test, and a call without an answer is repeated ----
  v1::Control::Stub& control() { return *control_; }
  // Opens a channel with certificates other than the cluster's own.
  std::unique_ptr<v1::Control::Stub> ControlWith(const CertificateFiles& files) const;
  uint64_t Submit(const v1::ExperimentSpec& spec, const std::string& request_id = "");
  void Cancel(uint64_t experiment, uint32_t trial = 0);
  void Retry(uint64_t experiment);
  v1::TrialSummary Trial(uint64_t experiment, uint32_t trial = 1);
  v1::ExperimentSummary Experiment(uint64_t experiment);
  v1::GetExperimentResponse Described(uint64_t experiment);
  // Bounds the slots of the experiments with this label, "team=vision".
  void SetQuota(const std::string& label, uint32_t slots, const std::string& who);
  v1::ExplainTrialResponse Explain(uint64_t experiment, uint32_t trial = 1);
  std::vector<v1::WorkerSummary> Workers();
  std::vector<v1::CheckpointSummary> Checkpoints(uint64_t experiment);
  // Returns the number of valid rows for each step.
  std::map<uint64_t, int> ValidRows(uint64_t experiment, uint32_t trial = 1);
  // Returns a line for each attempt with the steps of its rows, superseded ones with a minus.
  std::string RowsByAttempt(uint64_t experiment, uint32_t trial = 1);
  v1::ReadLogsResponse LogPage(const v1::ReadLogsRequest& request);
  std::string Logs(uint64_t experiment, uint32_t trial = 1);

  // ---- waits ----
  bool AwaitTrial(uint64_t experiment, uint32_t trial, v1::TrialState state,
                  std::chrono::milliseconds limit = kPatience);
  bool AwaitStep(uint64_t experiment, uint32_t trial, uint64_t step,
                 std::chrono::milliseconds limit = kPatience);
  bool AwaitEnd(uint64_t experiment, std::chrono::milliseconds limit = kPatience);
  // Waits until the coordinator calls `count` workers idle or busy.
  bool AwaitWorkers(size_t count, std::chrono::milliseconds limit = kPatience);

 private:
  template <typename Request, typename Response>
  Response Call(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Response*),
                const Request& request);
  std::shared_ptr<grpc::Channel> MakeChannel(const CertificateFiles* files) const;

  Programs programs_;
  const Transport transport_;
  TempFolder folder_;
  std::unique_ptr<Certificates> certificates_;
  std::string address_;
  std::string http_address_;
  std::vector<std::string> coordinator_flags_;
  std::unique_ptr<v1::Control::Stub> control_;
  std::vector<pid_t> trainers_seen_;
  ChildProcess coordinator_;
  std::map<std::string, ChildProcess> workers_;
};

}  // namespace dt::testing
