// frames.h: the protocol between an agent and its trainer: JSON lines over a socket pair that the
// trainer has as descriptor 3. One line is one frame, at most kFrameBytes; `type` says which.
//
// Role:    shared by dtworker, dttrain and dtprogram, which speaks for a program that does not know
//          the protocol. Needs only nlohmann-json, so that dttrain builds without gRPC or protobuf.
// Errors:  Parse… does not throw; a malformed line is an InvalidFrame with the reason.
//
// A conversation (agent → and trainer ←):
//   ← hello                        once, when the process is up; then `idle`
//   → start                        an attempt for this rank; the specification is v1::Spec as
//                                  protobuf JSON with original field names and every field present
//   ← resolved, → environment      a program's rank 0 has resolved its packages; all get the same
//   ← prepared                     data read, model sized; every rank
//   ← store                        rank 0: the address of this attempt's TCPStore
//   → connect                      ranks > 0: that address (may also be in `start`)
//   ← running                      the first step begins, from `resumed_step`
//   ← step, eval, checkpoint, …    progress
//   → registered                   rank 0: a checkpoint is durable with the coordinator
//   → stop                         leave the attempt; `checkpoint` true: save first
//   → peer_lost                    a member of the gang is gone: end every wait for it
//   ← holds                        a collective failed, and this rank has its state
//   → rescue                       save it. Without this or `stop` the rank leaves by itself
//   ← end                          exactly once for each start, unless the process dies
//   ← idle                         memory freed; ready for the next start
//   → exit, or descriptor 3 closes: the process ends
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dt::frames {

inline constexpr size_t kFrameBytes = 1 << 20;

// ---- agent → trainer ----
struct Resume {
  uint64_t step = 0;
  std::string path;           // relative to `storage`
  std::string manifest_hash;  // sha256 hex of manifest.json
};
struct Start {
  std::string token;  // 32 hex digits; every later frame of this attempt carries it
  uint64_t experiment = 0;
  uint32_t trial = 0;
  uint32_t attempt = 0;
  int32_t rank = 0;
  int32_t world_size = 1;
  int32_t local_rank = 0;
  nlohmann::json spec;
  std::string data_root;
  std::string
      storage;  // folder; checkpoints go to <storage>/<experiment>/<trial>/a<attempt>/step-<n>
  std::string data_address;  // host or IP that rank 0's store and Gloo listen on
  std::optional<Resume> resume;
  std::string store_address;  // host:port; empty until rank 0 has one
  // Steps to validate at, besides eval.every: target steps / divisor, rounded up. A search compares
  // trials at them.
  std::vector<uint64_t> validate_at;
  // In a population: validate and save at each multiple of this share of the target steps
  // (common/shares.h), and keep those checkpoints. 0: none.
  double share_every = 0;
  std::string code_folder;  // only of this attempt, unpacked; "": the experiment brings no code
  // Further fields for a program.
  int32_t local_world_size = 1;
  int32_t node_rank = 0;
  int32_t nodes = 1;
  std::vector<int32_t> node_ranks;         // of every rank
  std::vector<std::string> local_devices;  // UUIDs of the gang's GPUs here, by local rank
  std::string metric;                      // by which trials are compared; "": val_loss
  std::string metric_goal;                 // maximize | minimize
  std::string submitted_by;
  std::string experiment_name;
  std::string environment;  // its exact packages; "": not resolved yet
  double ran_seconds = 0;   // in earlier attempts
};
struct Connect {
  std::string token;
  std::string store_address;
};
struct Stop {
  std::string token;
  bool checkpoint = false;
  bool stacks = false;  // another rank of the program hangs: log what this one is doing, then leave
};
// A member of the gang is gone or hangs.
struct PeerLost {
  std::string token;
};
// Answer to `holds`: save that state, and report the rows after `rows_after` before it. If several
// ranks hold it together, they meet at `meet_at` (host:port), and the first of them saves.
struct Rescue {
  std::string token;
  uint64_t rows_after = 0;
  std::string meet_at;
  bool operator==(const Rescue&) const = default;
};
// Sent to rank 0: the checkpoint of this step is durable with the coordinator, which now resumes
// from it.
struct Registered {
  std::string token;
  uint64_t step = 0;
};
// The exact packages of the experiment's environment, as the coordinator keeps them.
struct Environment {
  std::string token;
  std::string lock;
};
struct Exit {};

// ---- trainer → agent ----
struct Hello {
  std::string program_version;
  std::string program_revision;
  std::string torch_version;
  std::string nccl_version;
  std::string cuda_version;
  std::string device_name;
  std::string gpu_uuid;
  int32_t threads = 0;
  std::string cores;  // "0,1": pinned to these; "": not pinned
  uint64_t memory_bytes = 0;
};
struct Idle {};
struct Prepared {
  std::string token;
  uint64_t target_steps = 0;
  uint64_t train_files = 0;
  uint64_t train_tokens = 0;
  uint64_t val_tokens = 0;
  std::string data_fingerprint;
  uint64_t model_parameters = 0;
  uint64_t tokens_per_step = 0;
};
// Rank 0 has resolved the environment. Each rank waits for `environment`, and makes that one.
struct Resolved {
  std::string token;
  std::string lock;
  uint32_t packages = 0;
};
struct StoreUp {
  std::string token;
  std::string address;  // host:port
};
struct Running {
  std::string token;
  uint64_t resumed_step = 0;
};
// Rank 0: one logged step; `row` has the fields of v1::StepRow by name (absent ones are 0).
struct StepDone {
  std::string token;
  nlohmann::json row;
};
// At most once a second: from ranks other than 0 between steps, and from every rank within an
// evaluation, with its parts and those done; 0 of 0: not in an evaluation, or no longer.
struct Progress {
  std::string token;
  uint64_t step = 0;
  uint64_t evaluated_parts = 0;
  uint64_t evaluation_parts = 0;
  std::optional<double> share;  // the share done, 0 to 1, as a program reports it
  // A hint about a program's reports; "": the hint no longer applies.
  std::optional<std::string> hint;
  bool pauses = false;             // no step will come before the next of these frames
  bool makes_environment = false;  // as in AttemptStatus
};
// How long the ranks of an axis took for one operation; like v1::NetworkFigure.
struct NetworkFigure {
  std::string op, axis, over;
  uint32_t ranks = 0;
  uint32_t hosts = 0;
  uint64_t bytes = 0;
  uint32_t rounds = 0;
  double seconds = 0, least_seconds = 0, most_seconds = 0;
};
struct Eval {
  std::string token;
  uint64_t step = 0;
  std::string split = "val";
  double loss = 0;             // may be NaN
  double perplexity_mean = 0;  // mean over batches of exp(loss)
  double tokens = 0;
  double seconds = 0;
  std::optional<double> hellaswag_acc;  // shares of the examples; absent: not measured
  std::optional<double> hellaswag_acc_norm;
  std::vector<std::string> samples;  // generated texts
  // Mean training loss of the steps logged since the last validation; absent: none was logged.
  std::optional<double> train_loss;
  std::map<std::string, double> metrics;  // by the program's own names; may be NaN
  std::optional<NetworkFigure> network;
};
struct CheckpointDone {
  std::string token;
  uint64_t step = 0;
  std::string path;
  std::string manifest_hash;
  uint64_t bytes = 0;
  double seconds = 0;
  std::optional<double> loss;  // validation loss at this step, when known
  bool best = false;
};
struct CheckpointRemoved {
  std::string token;
  uint64_t step = 0;
  std::string path;
};
// A collective failed. This rank has the state after `step`, or its part of a replica that several
// ranks hold together, and waits.
struct Holds {
  std::string token;
  uint64_t step = 0;
  uint64_t hash = 0;    // of its parameters; 0: not computed
  std::string meet_at;  // of the first rank of such a replica: host:port where they can meet
};
struct End {
  std::string token;
  std::string cause;  // finished | cancelled | collective | oom | nonfinite | config | data |
                      // trainer_crash | worker_fault: the host failed, and not the program
  std::string message;
  uint64_t step = 0;
  std::string hint;            // as in Progress
  bool of_experiment = false;  // each trial of the experiment would end so
};

using ToTrainer =
    std::variant<Start, Connect, Stop, PeerLost, Rescue, Registered, Environment, Exit>;
using FromTrainer = std::variant<Hello, Idle, Prepared, Resolved, StoreUp, Running, StepDone,
                                 Progress, Eval, CheckpointDone, CheckpointRemoved, Holds, End>;

struct InvalidFrame {
  std::string reason;
};

// Returns one line, without the newline.
std::string ToLine(const ToTrainer& frame);
std::string ToLine(const FromTrainer& frame);
std::variant<ToTrainer, InvalidFrame> ParseToTrainer(std::string_view line);
std::variant<FromTrainer, InvalidFrame> ParseFromTrainer(std::string_view line);

}  // namespace dt::frames
