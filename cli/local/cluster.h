// cluster.h: a coordinator and workers in the background of this machine, started by `dtctl up` and
// ended by `dtctl down`.
//
// Role:    decides what to start, from the options and the running processes. Owns the files under
//          $XDG_STATE_HOME/dtrain/NAME: coordinator/ (journal), storage/ (checkpoints), data/ (root
//          of the paths in experiment files), logs/, addresses.json (of a running coordinator),
//          last-addresses.json (of the previous one), run-folder (names the workers'), processes,
//          lock; with --auth also worker.token, beside the admin's in coordinator/.
// Threads: one thread.
// Errors:  InvalidArgument, FailedPrecondition and Unavailable, naming the program with the end of
//          its log, or the option and what runs now.
// Tests:   tests/cli/local/cluster_test.cc
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/local/kept_processes.h"

namespace dt::cli {

struct ClusterOptions {
  std::string name = "local";
  std::string state_home;            // the parent of NAME's folder
  std::string programs;              // the folder of dtcoord and dtworker
  std::optional<int64_t> cpu_slots;  // --slots
  std::string gpus;                  // --gpus: "all", "0,1"; "" if not given
  std::string data_root;             // "" if not given
  bool has_gpus = false;             // the machine has GPUs
  bool auth = false;                 // --auth: require tokens, now and at later starts
  // Makes a token for workers, with the admin's token from the file. Called with `auth` only.
  std::function<absl::StatusOr<std::string>(const std::string& address,
                                            const std::string& admin_token_file)>
      worker_token = {};
  int cores = 1;
  // Port of the first start, if free; 0: any free port. Later starts use the previous port.
  int grpc_port = 7600;
  int http_port = 7601;
};

// Returns $XDG_STATE_HOME/dtrain or ~/.local/state/dtrain; "" where neither variable is set.
std::string StateHome(const std::string& xdg_state_home, const std::string& home);
// Returns whether `dtctl up --name NAME` runs a coordinator at this address.
bool IsLocalCluster(const std::string& state_home, const std::string& name,
                    const std::string& address);
// Returns whether the NVIDIA driver shows a GPU.
bool HasGpus(const std::string& root = "");

// Returns the devices of the workers: "cpu:0 cpu:1", or "gpus" or "gpus:0,1", a process each.
absl::StatusOr<std::vector<std::string>> WantedWorkers(const ClusterOptions& options,
                                                       const std::vector<std::string>& known,
                                                       bool running);
// Returns "2 CPU slots", "all GPUs" or "GPUs 0,1".
std::string ShapeText(const std::vector<std::string>& workers);

struct ClusterAddresses {
  std::string grpc;
  std::string http;
};

class LocalCluster {
 public:
  // Makes the folder and takes its lock.
  static absl::StatusOr<LocalCluster> Open(const ClusterOptions& options,
                                           const KeptProcesses::Pause& pause);

  // Starts the missing processes, and waits until the coordinator answers.
  absl::Status Up(const KeptProcesses::Pause& pause);
  // Ends the workers, whose trainers save a checkpoint, then the coordinator. Returns the number of
  // ended processes.
  absl::StatusOr<size_t> Down(const KeptProcesses::Pause& pause);
  // Removes the files that Up made, and its workers' in the run folder. Data that the user put into
  // data/ stays. REQUIRES: Down.
  absl::Status Purge();

  // Returns an error with its log if a worker has ended.
  absl::Status CheckWorkers() const;

  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& workers() const { return workers_; }
  const std::vector<std::string>& started() const { return started_; }
  const ClusterAddresses& addresses() const { return addresses_; }
  // Returns a sentence for each address that this Up could not keep.
  const std::vector<std::string>& moved() const { return moved_; }
  std::string data() const { return folder_ + "/data"; }
  // Returns an admin's token; "" where tokens are not required.
  std::string token_file() const;

 private:
  LocalCluster(ClusterOptions options, std::string folder, KeptProcesses processes);
  absl::Status PrepareFolders() const;
  std::string RunFolder() const;
  bool HasTokens() const;
  absl::Status EnsureWorkerToken() const;
  ClusterAddresses PreferredAddresses() const;
  absl::Status StartCoordinator(const KeptProcesses::Pause& pause);
  absl::Status AwaitAddresses(const KeptProcesses::Pause& pause);
  void NoteMoves(const ClusterAddresses& before);
  KeptCommand WorkerCommand(const std::string& worker) const;

  ClusterOptions options_;
  std::string folder_;
  KeptProcesses processes_;
  std::vector<std::string> workers_;
  std::vector<std::string> started_;  // by this Up
  ClusterAddresses addresses_;
  std::vector<std::string> moved_;
};

}  // namespace dt::cli
