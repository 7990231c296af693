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
enum class Warmth {
  kOnDemand,   // when an attempt needs one
  kAlwaysWarm  // ahead of the first attempt as well, and again after a crash
};

// What trains, or measures the network: dttrain; or dtprogram, which runs a program of the person's
// and says of it what a trainer would.
enum class TrainerKind { kOwn, kProgram };
TrainerKind KindOf(const v1::Spec& spec);

// Constant for the life of the process.
struct AgentOptions {
  v1::Hello hello;  // who this is; the session is filled in per stream
  std::string data_root;
  std::string storage;  // folder; its id and the data address are in `hello`
  // For messages to people; the shell knows how to start them.
  std::string trainer_path;
  std::string program_path;
  absl::Duration disconnect_grace = limits::kDisconnectGrace;
  Warmth warmth = Warmth::kAlwaysWarm;
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
  std::string message;  // no process came to be
};
enum class OomEvidence { kNone, kCgroupKill };
struct TrainerExited {
  int wait_status = 0;  // as from waitpid
  OomEvidence oom = OomEvidence::kNone;
};
struct LogLines {
  std::vector<std::string> lines;  // without newlines
  uint64_t dropped = 0;            // lines before them that the reader left out
  LogPipe pipe = LogPipe::kOutput;
  std::string dropped_error;  // newest of those left out that says an error; "": none does
  bool before_start = false;  // written before the newest `start` was sent
};
// What LookForCheckpoints found to be gone, of those that it named.
struct CheckpointsGone {
  AttemptToken token;
  std::vector<v1::CheckpointRef> gone;
};
// The attempt's code lies in this folder, which is the attempt's alone.
struct CodeReady {
  AttemptToken token;
  std::string folder;
};
enum class CodeFault { kNotGot, kHost };  // did not come; or this host has no place for it
struct CodeFailed {
  AttemptToken token;
  std::string message;
  CodeFault fault = CodeFault::kNotGot;
};
struct TimePassed {};
struct Terminate {};  // SIGTERM: drain; a second one: leave at once

using AgentEvent =
    std::variant<StreamConnected, StreamLost, OrdersReceived, ReportWritten, FrameReceived,
                 TrainerMisbehaved, TrainerStartFailed, TrainerExited, LogLines, CheckpointsGone,
                 CodeReady, CodeFailed, TimePassed, Terminate>;

// ---- actions ----
struct SpawnTrainer {
  std::map<std::string, std::string> env;  // resources.env of an attempt of the own trainer
  TrainerKind kind = TrainerKind::kOwn;
};
struct SendFrame {
  frames::ToTrainer frame;
};
// SIGKILL to the trainer's whole process group.
struct KillTrainer {};
struct SendReport {
  v1::WorkerReport report;
};
// Looks whether these folders of the storage are there; CheckpointsGone answers where one is not.
struct LookForCheckpoints {
  AttemptToken token;
  std::vector<v1::CheckpointRef> registered;
};
// Gets the code of an attempt; CodeReady or CodeFailed answers.
struct FetchCode {
  AttemptToken token;
  v1::Code code;
};
// The attempt is over, and its folder with it.
struct DropCode {
  AttemptToken token;
};
struct ExitProcess {};

using AgentAction = std::variant<SpawnTrainer, SendFrame, KillTrainer, SendReport,
                                 LookForCheckpoints, FetchCode, DropCode, ExitProcess>;
using Actions = std::vector<AgentAction>;

// ---- state ----
enum class TrainerPhase {
  kNone,
  kStarting,  // started, no `idle` yet
  kIdle,
  kBusy,     // has a `start`, and no `idle` since
  kLeaving,  // told to exit
  kKilled,   // SIGKILL sent, not yet reaped
};
struct Trainer {
  TrainerPhase phase = TrainerPhase::kNone;
  bool was_ready = false;  // said `idle` once
  bool used = false;       // was given an attempt
  TrainerKind kind = TrainerKind::kOwn;
  std::map<std::string, std::string> env;
  frames::Hello hello;
  absl::Duration kill_at = absl::InfiniteDuration();  // steady time
  std::string kill_reason;                            // when kill_at passes, or misconduct
};

// Why an attempt is to end here; later ones are stronger.
enum class StopReason {
  kNone,
  kGrace,      // the coordinator was away too long: save and stop
  kGangSaves,  // another worker of the gang is to go: save and stop
  kDraining,   // this worker is to go: save and stop
  kAbandon,    // the gang is broken, or the attempt is no longer ordered
  kKill,       // cancelled
  kForget,     // the coordinator does not know it: kill, and tell nothing
};
enum class AttemptStage {
  kWaiting,    // for a trainer, and for its code; no `start` sent
  kPreparing,  // `start` sent
  kReady,      // `prepared` received
  kTraining,   // `running` received
  kEnded,      // its end is told; the trainer still frees memory
};
struct LocalAttempt {
  AttemptToken token;
  v1::Assigned assigned;
  AttemptStage stage = AttemptStage::kWaiting;
  StopReason stop = StopReason::kNone;
  bool brings_code = false;   // which was asked for
  std::string code_folder;    // "": not there yet
  bool address_sent = false;  // rank > 0: the trainer has the store's address
  // Live state, as in AttemptStatus.
  std::string store_address;
  uint64_t step = 0;
  uint64_t evaluated_parts = 0, evaluation_parts = 0;
  double progress = 0;  // that a program told, from 0 to 1
  std::string hint;     // what a person should know of its reports
  bool pauses = false;
  std::optional<v1::StepRow> latest;
  std::optional<v1::Prepared> prepared;
};

// Whose log a line goes into.
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
  bool contact = false;  // orders came on this stream: somebody is there
  bool hello_sent = false;
  std::vector<uint64_t> ended_instances;
  bool report_in_flight = false;
  bool report_urgent = false;  // something to tell that does not wait for the heartbeat
  absl::Duration next_report;  // steady time of the next heartbeat
  absl::Duration lost_since;   // steady time since when there is no contact

  // What should be, as last ordered, and what is.
  std::optional<DesiredAttempt> desired;
  std::optional<LocalAttempt> attempt;
  std::deque<AttemptToken> ended;  // the newest attempts that ended here
  Trainer trainer;
  TrainerKind newest_kind = TrainerKind::kOwn;  // of the newest attempt: what may come next
  int start_failures = 0;  // in a row; an attempt's arrival starts the count anew
  std::string start_error;
  absl::Duration next_start;  // not before this

  // What is to be told.
  ItemBuffer buffer;
  AttemptToken pending_token;  // of pending_rows
  std::vector<v1::StepRow> pending_rows;
  std::optional<LogOwner> writer;          // what the trainer prints now is of this attempt
  std::optional<LogOwner> earlier_writer;  // and what it printed before its newest `start`, of this
  LogOwner pending_log_owner;
  std::string pending_log;
  uint64_t pending_log_dropped = 0;  // behind pending_log
  LastWords last_words;              // of the attempt that the trainer was given, or of its start

  // Going.
  bool draining = false;
  bool drained_told = false;  // a report said that nothing is held any more
  absl::Duration drain_until = absl::InfiniteDuration();
};

AgentState MakeAgent(AgentOptions options, Instant now);

}  // namespace dt
