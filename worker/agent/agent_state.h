// agent_state.h: the state of one worker's agent, the events that it takes and the actions that it
// asks for.
//
// Ownership: AgentState is a value: copyable, movable, all of it here.
// Tests:     as agent.h
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "common/limits.h"
#include "dtrain/v1/fleet.pb.h"
#include "worker/agent/item_buffer.h"
#include "worker/agent/last_words.h"
#include "worker/frames/frames.h"

namespace dt {

namespace v1 = ::dtrain::v1;

// When a trainer process is started.
enum class TrainerStart {
  kOnDemand,   // when an attempt needs a trainer
  kAlwaysWarm  // also before the first attempt, and again after a crash
};

// The program that trains, or measures the network: dttrain; or dtprogram, which runs a user's
// program and speaks for it as a trainer would.
enum class TrainerKind { kOwn, kProgram };
TrainerKind KindOf(const v1::Spec& spec);

// Constant for the life of the process.
struct AgentOptions {
  v1::Hello hello;  // the worker's identity; the session is filled in for each stream
  std::string data_root;
  std::string storage;  // folder; its id and the data address are in `hello`
  // For messages to people; the shell has the commands.
  std::string trainer_path;
  std::string program_path;
  absl::Duration disconnect_grace = limits::kDisconnectGrace;
  TrainerStart trainer_start = TrainerStart::kAlwaysWarm;
};

// ---- events ----
struct StreamConnected {
  std::vector<uint64_t> ended_instances;  // of this slot, as in Hello
};
struct StreamLost {};
struct OrdersReceived {
  uint64_t session = 0;
  v1::Orders orders;
};
struct ReportWritten {
  uint64_t session = 0;
};
struct FrameReceived {
  frames::FromTrainer frame;
};
struct TrainerMisbehaved {
  std::string reason;  // a malformed or overlong frame
};
struct TrainerStartFailed {
  std::string message;  // why no process could be started
};
enum class OomEvidence { kNone, kCgroupKill };
struct TrainerExited {
  int wait_status = 0;  // as from waitpid
  OomEvidence oom = OomEvidence::kNone;
};
struct LogLines {
  std::vector<std::string> lines;  // without newlines
  uint64_t dropped = 0;            // dropped lines before them
  LogPipe pipe = LogPipe::kOutput;
  std::string dropped_error;  // newest dropped line that reports an error; "": none
  bool before_start = false;  // written before the newest `start` was sent
};
// The checkpoints that are gone, of those in a LookForCheckpoints.
struct CheckpointsGone {
  AttemptToken token;
  std::vector<v1::CheckpointRef> gone;
};
// The attempt's code is in this folder, which belongs only to this attempt.
struct CodeReady {
  AttemptToken token;
  std::string folder;
};
enum class CodeFault { kNotGot, kHost };  // it did not arrive; or this host has no place for it
struct CodeFailed {
  AttemptToken token;
  std::string message;
  CodeFault fault = CodeFault::kNotGot;
};
// The file of the trainer that runs was replaced, as an upgrade does.
struct TrainerReplaced {};
// The answer to a CheckPeers: the addresses that did not answer.
struct PeersChecked {
  uint64_t number = 0;
  std::vector<std::string> unreachable;
};
struct TimePassed {};
struct Terminate {};  // SIGTERM: drain; a second one: leave at once

using AgentEvent =
    std::variant<StreamConnected, StreamLost, OrdersReceived, ReportWritten, FrameReceived,
                 TrainerMisbehaved, TrainerStartFailed, TrainerExited, LogLines, CheckpointsGone,
                 CodeReady, CodeFailed, TrainerReplaced, PeersChecked, TimePassed, Terminate>;

// ---- actions ----
struct SpawnTrainer {
  std::map<std::string, std::string> env;  // resources.env of an attempt of dtrain's own trainer
  TrainerKind kind = TrainerKind::kOwn;
};
struct SendFrame {
  frames::ToTrainer frame;
};
// SIGKILL to the trainer's process group.
struct KillTrainer {};
struct SendReport {
  v1::WorkerReport report;
};
// Looks whether these folders exist in the storage; CheckpointsGone is the answer if one does not.
struct LookForCheckpoints {
  AttemptToken token;
  std::vector<v1::CheckpointRef> registered;
};
// Gets the code of an attempt; the answer is CodeReady or CodeFailed.
struct FetchCode {
  AttemptToken token;
  v1::Code code;
};
// The attempt is over, and its folder can be removed.
struct DropCode {
  AttemptToken token;
};
// Finds out which of these addresses (host:port) answer; PeersChecked is the answer.
struct CheckPeers {
  uint64_t number = 0;
  std::vector<std::string> addresses;
};
struct ExitProcess {};

using AgentAction = std::variant<SpawnTrainer, SendFrame, KillTrainer, SendReport,
                                 LookForCheckpoints, FetchCode, DropCode, CheckPeers, ExitProcess>;
using Actions = std::vector<AgentAction>;

// ---- state ----
enum class TrainerPhase {
  kNone,
  kStarting,  // started, no `idle` yet
  kIdle,
  kBusy,     // has a `start`, but sent no `idle` since
  kLeaving,  // ordered to exit
  kKilled,   // SIGKILL sent, not yet reaped
};
struct Trainer {
  TrainerPhase phase = TrainerPhase::kNone;
  bool was_ready = false;  // has sent `idle`
  bool used = false;       // has been given an attempt
  bool reused = false;     // has been given more than one
  bool replaced = false;   // its file was replaced since it started
  TrainerKind kind = TrainerKind::kOwn;
  std::map<std::string, std::string> env;
  std::string tenant;  // of its newest attempt (TenantOf); "": of none that this journal knows
  frames::Hello hello;
  absl::Duration kill_at = absl::InfiniteDuration();     // steady time
  std::string kill_reason;                               // when kill_at passes, or misconduct
  absl::Duration rest_until = absl::InfiniteDuration();  // steady time at which an idle one leaves
};

// Why an attempt must end here; later ones are stronger.
enum class StopReason {
  kNone,
  kGrace,      // the coordinator was away too long: save and stop
  kGangSaves,  // another worker of the gang leaves: save and stop
  kDraining,   // this worker leaves: save and stop
  kAbandon,    // the gang is broken, or the attempt is no longer ordered
  kKill,       // cancelled
  kForget,     // the coordinator does not know it: kill, and report nothing
};
enum class AttemptStage {
  kWaiting,    // waits for a trainer and for its code; no `start` sent
  kPreparing,  // `start` sent
  kReady,      // `prepared` received
  kTraining,   // `running` received
  kEnded,      // its end is reported; the trainer still frees memory
};
struct LocalAttempt {
  AttemptToken token;
  v1::Assigned assigned;
  AttemptStage stage = AttemptStage::kWaiting;
  StopReason stop = StopReason::kNone;
  bool brings_code = false;   // its code was requested
  std::string code_folder;    // "": not there yet
  bool address_sent = false;  // rank > 0: the trainer has the store's address
  // Live state, as in AttemptStatus.
  std::string store_address;
  uint64_t step = 0;
  uint64_t evaluated_parts = 0, evaluation_parts = 0;
  double progress = 0;  // as a program reported it, from 0 to 1
  std::string hint;     // a hint about its reports
  bool pauses = false;
  absl::Duration pauses_since;   // steady time
  absl::Duration longest_pause;  // while it trains
  bool makes_environment = false;
  bool of_experiment = false;          // as in Ended
  bool environment_sent = false;       // the runner has the experiment's packages
  std::optional<frames::Holds> holds;  // the state that the trainer keeps for its gang
  bool peer_lost_sent = false;
  bool rescue_sent = false;
  std::optional<v1::StepRow> latest;
  std::optional<v1::Prepared> prepared;
};

// The attempt and rank to whose log a line belongs.
struct LogOwner {
  AttemptToken token;
  int32_t rank = 0;
};

struct DesiredAttempt {
  AttemptToken token;
  v1::Assigned assigned;
};

struct AgentState {
  AgentOptions options;
  JournalId journal_id = 0;  // 0: none yet

  // The stream.
  uint64_t session = 0;
  bool connected = false;
  bool contact = false;  // orders came on this stream: a coordinator answers
  bool hello_sent = false;
  std::vector<uint64_t> ended_instances;
  bool report_in_flight = false;
  bool report_urgent = false;  // a report is due that does not wait for the heartbeat
  absl::Duration next_report;  // steady time of the next heartbeat
  absl::Duration lost_since;   // steady time since when there is no contact
  uint64_t ping = 0;           // to be answered by the next report; 0: none
  absl::Duration pinged_at;
  uint64_t check_number = 0;                   // of the newest question about peers
  std::optional<v1::PeerCheckResult> checked;  // its answer, until a report has it

  // The desired attempt, from the last orders, and the held one.
  std::optional<DesiredAttempt> desired;
  std::optional<LocalAttempt> attempt;
  std::deque<AttemptToken> ended;  // the newest attempts that ended here
  Trainer trainer;
  TrainerKind newest_kind = TrainerKind::kOwn;  // of the newest attempt: the next is likely of the
                                                // same kind
  int start_failures = 0;                       // in a row; a new attempt resets it
  std::string start_error;
  absl::Duration next_start;  // not before this

  // Items to report.
  ItemBuffer buffer;
  AttemptToken pending_token;  // of pending_rows
  std::vector<v1::StepRow> pending_rows;
  std::optional<LogOwner> writer;          // the attempt to which the trainer's output belongs now
  std::optional<LogOwner> earlier_writer;  // the attempt to which its output before the newest
                                           // `start` belongs
  LogOwner pending_log_owner;
  std::string pending_log;
  uint64_t pending_log_dropped = 0;  // after pending_log
  LastWords last_words;              // of the attempt that the trainer was given, or of its start

  // Shutdown.
  bool draining = false;
  bool drained_told = false;  // a report stated that nothing is held any more
  absl::Duration drain_until = absl::InfiniteDuration();
};

AgentState MakeAgent(AgentOptions options, Instant now);

}  // namespace dt
