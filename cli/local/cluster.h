// cluster.h: a coordinator and workers of this machine in the background: what `dtctl up` starts
// and `dtctl down` ends.
//
// Role:    what is to run, from what is asked and what runs already; and the files under
//          $XDG_STATE_HOME/dtrain/NAME: coordinator/ (journal), storage/ (checkpoints), data/
//          (where paths in experiment files begin), logs/, addresses.json (of a coordinator that
//          answers), last-addresses.json (of the one before), processes, lock; and
//          with --auth worker.token, beside the admin's in coordinator/.
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
  std::string state_home;            // the folder that NAME's folder is in
  std::string programs;              // the folder of dtcoord and dtworker
  std::optional<int64_t> cpu_slots;  // --slots
  std::string gpus;                  // --gpus: "all", "0,1"; "" when not given
  std::string data_root;             // "" when not given
  bool has_gpus = false;             // this machine shows some
  bool auth = false;                 // --auth: it wants tokens; so it goes on to do
  // Makes a token for workers with that of an admin, which is in the file. Asked for where `auth`.
  std::function<absl::StatusOr<std::string>(const std::string& address,
                                            const std::string& admin_token_file)>
      worker_token = {};
  int cores = 1;
  // Where it listens the first time, if nothing else does; 0: wherever there is room. Afterwards it
  // listens where it did before.
  int grpc_port = 7600;
  int http_port = 7601;
};

// $XDG_STATE_HOME/dtrain, ~/.local/state/dtrain. "" where neither variable is set.
std::string StateHome(const std::string& xdg_state_home, const std::string& home);
// Whether the NVIDIA driver shows a GPU.
bool HasGpus(const std::string& root = "");

// What workers run: "cpu:0 cpu:1", or "gpus" or "gpus:0,1", a process each.
absl::StatusOr<std::vector<std::string>> WantedWorkers(const ClusterOptions& options,
                                                       const std::vector<std::string>& known,
                                                       bool running);
// "2 CPU slots", "all GPUs", "GPUs 0,1".
std::string ShapeText(const std::vector<std::string>& workers);

struct ClusterAddresses {
  std::string grpc;
  std::string http;
};

class LocalCluster {
 public:
  // Takes the lock of its folder, which it makes.
  static absl::StatusOr<LocalCluster> Open(const ClusterOptions& options,
                                           const KeptProcesses::Pause& pause);

  // Starts what is wanted and not there, and waits until the coordinator answers.
  absl::Status Up(const KeptProcesses::Pause& pause);
  // Ends the workers, whose trainers save a checkpoint, then the coordinator. Returns how many
  // processes it ended.
  absl::StatusOr<size_t> Down(const KeptProcesses::Pause& pause);
  // Removes what Up made; data that somebody put into data/ stays. REQUIRES: Down.
  absl::Status Purge();

  // An error with its log when a worker has ended.
  absl::Status CheckWorkers() const;

  const std::string& folder() const { return folder_; }
  const std::vector<std::string>& workers() const { return workers_; }
  const std::vector<std::string>& started() const { return started_; }
  const ClusterAddresses& addresses() const { return addresses_; }
  // A sentence for each address that this Up could not keep.
  const std::vector<std::string>& moved() const { return moved_; }
  std::string data() const { return folder_ + "/data"; }
  // An admin's; "": it asks for none.
  std::string token_file() const;

 private:
  LocalCluster(ClusterOptions options, std::string folder, KeptProcesses processes);
  absl::Status PrepareFolders() const;
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
