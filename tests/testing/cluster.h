// cluster.h: a real dtcoord and real dtworkers on loopback, for tests end to end.
//
// Ownership: every process it starts; the destructor ends them all. Nothing else is ever signalled.
// Threads:   the test's thread.
// Bounds:    every wait has a deadline (kPatience unless said otherwise).
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

// How the programs talk.
enum class Transport {
  kUnixSocket,  // in the clear; the address outlives the coordinator
  kTls,         // TCP, port chosen by the system once, with certificates on both sides
  kClearTcp,    // the same without certificates
};

class Cluster {
 public:
  explicit Cluster(Programs programs, Transport transport = Transport::kUnixSocket);

  const TempFolder& folder() const { return folder_; }
  std::string storage() const { return folder_ / "storage"; }
  const Certificates& certificates() const { return *certificates_; }
  std::string address() const { return address_; }            // of gRPC, once it has started
  std::string http_address() const { return http_address_; }  // host:port of /metrics

  // ---- processes ----
  // Starts it, or starts it again at the same address, and waits until it answers. `http`: a page
  // that is open looks for it where it was.
  void StartCoordinator(const std::string& http = "127.0.0.1:0");
  // Each start from now on is of these.
  void SetPrograms(Programs programs) { programs_ = std::move(programs); }
  // Each start from now on has these, behind the others.
  void SetCoordinatorFlags(std::vector<std::string> flags) {
    coordinator_flags_ = std::move(flags);
  }
  ChildProcess& coordinator() { return coordinator_; }
  void KillCoordinator() { coordinator_.KillAndReap(); }
  // All workers share one storage, unless `flags`, which come last, say otherwise.
  void StartWorker(const std::string& name, const std::vector<std::string>& flags = {},
                   const std::map<std::string, std::string>& env = {});
  ChildProcess& worker(const std::string& name) { return workers_.at(name); }
  // The trainer that this worker runs now, -1: none.
  pid_t TrainerOf(const std::string& name) const;
  pid_t AwaitTrainerOf(const std::string& name) const;
  // Every process that was ever seen as a trainer here and lives; looked for on each call.
  std::vector<pid_t> LivingTrainers();
  // What --address and the TLS flags of another program must be.
  std::vector<std::string> ClientFlags() const;

  // ---- calls; they fail the test when refused, and are tried again while nobody answers ----
  v1::Control::Stub& control() { return *control_; }
  // A channel with other certificates than the cluster's own.
  std::unique_ptr<v1::Control::Stub> ControlWith(const CertificateFiles& files) const;
  uint64_t Submit(const v1::ExperimentSpec& spec, const std::string& request_id = "");
  void Cancel(uint64_t experiment, uint32_t trial = 0);
  void Retry(uint64_t experiment);
  v1::TrialSummary Trial(uint64_t experiment, uint32_t trial = 1);
  v1::ExperimentSummary Experiment(uint64_t experiment);
  v1::GetExperimentResponse Described(uint64_t experiment);
  // Bounds the slots of those with this label, "team=vision".
  void SetQuota(const std::string& label, uint32_t slots, const std::string& who);
  v1::ExplainTrialResponse Explain(uint64_t experiment, uint32_t trial = 1);
  std::vector<v1::WorkerSummary> Workers();
  std::vector<v1::CheckpointSummary> Checkpoints(uint64_t experiment);
  // How many valid rows there are of each step.
  std::map<uint64_t, int> ValidRows(uint64_t experiment, uint32_t trial = 1);
  std::string Logs(uint64_t experiment, uint32_t trial = 1);

  // ---- waits ----
  bool AwaitTrial(uint64_t experiment, uint32_t trial, v1::TrialState state,
                  std::chrono::milliseconds limit = kPatience);
  bool AwaitStep(uint64_t experiment, uint32_t trial, uint64_t step,
                 std::chrono::milliseconds limit = kPatience);
  bool AwaitEnd(uint64_t experiment, std::chrono::milliseconds limit = kPatience);
  // Workers that the coordinator calls idle or busy.
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
