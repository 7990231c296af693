// limits.h: every bound of the control plane, with its reason. Every queue, retry, wait and growing
// thing has one of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dt::limits {

// --- Time ---
// How often a worker reports that it lives; a lease tolerates several lost reports.
inline constexpr absl::Duration kHeartbeat = absl::Seconds(1);
// Silence after which an attempt counts as lost, whatever is known: ten heartbeats, so that a busy
// two-core host keeps its trial.
inline constexpr absl::Duration kLease = absl::Seconds(10);
// After the coordinator's start no lease expires before workers had time to reconnect with backoff.
inline constexpr absl::Duration kStartupGrace = absl::Seconds(15);
// How long trainers go on without a coordinator by default: longer than a reboot.
inline constexpr absl::Duration kDisconnectGrace = absl::Minutes(30);
// A rank that was ordered to abandon and is still inside a collective after this is killed.
inline constexpr absl::Duration kAbandonGrace = absl::Seconds(2);
// A prepared gang that does not train within this time is ended as hung: connecting takes seconds.
inline constexpr absl::Duration kRendezvousTimeout = absl::Minutes(2);
// Preparing reads shard headers and fingerprints; a network file system may be slow.
inline constexpr absl::Duration kPrepareTimeout = absl::Minutes(10);
// If the file sets no checkpoint interval, the first checkpoint of an attempt comes after this.
// After lost attempts the next ones come as often as losses and the cost of saving suggest, but no
// more often than kSaveLeast.
inline constexpr absl::Duration kSaveFirst = absl::Seconds(10);
inline constexpr absl::Duration kSaveLeast = absl::Seconds(1);
// Reconnect backoff of a worker: the first try soon, later ones spread out so that a fleet does not
// return all at once.
inline constexpr absl::Duration kReconnectFirst = absl::Milliseconds(200);
inline constexpr absl::Duration kReconnectMax = absl::Seconds(5);
// A worker whose certificate is refused tries this often: only a person can change that, and the
// trainer that it holds goes on meanwhile.
inline constexpr absl::Duration kReconnectRefused = absl::Minutes(1);
// The least backoff after a fault of a worker's host, which costs the trial nothing: a full disk
// may stay full. It doubles like any backoff.
inline constexpr absl::Duration kWorkerFaultBackoff = absl::Seconds(5);
// Upper bound of the retry backoff, which doubles.
inline constexpr absl::Duration kRetryBackoffMax = absl::Minutes(5);
// Backoff from the second end in a row on, doubled each time, whatever the file sets: otherwise a
// program that cannot start would be started hundreds of times a minute.
inline constexpr absl::Duration kRetryBackoffLeast = absl::Seconds(1);
// Pause before a trial that found a full disk is tried again, doubled each time: a person has to
// look, then free some space.
inline constexpr absl::Duration kFullDiskWait = absl::Seconds(30);
// Time that a trainer has to write the checkpoint of a large model once it is ordered to save and
// stop; then it is killed. A unit's stop timeout must be longer.
inline constexpr absl::Duration kCheckpointStopGrace = absl::Minutes(2);
// From the start of a trainer process to its hello: loading LibTorch from a cold disk takes
// seconds, and a predecessor may hold the slot's lock a little longer.
inline constexpr absl::Duration kTrainerStartTimeout = absl::Minutes(2);
// How long to wait for the slot's lock while a killed predecessor still holds it. The timeout of
// the start is longer.
inline constexpr absl::Duration kSlotLockPatience = absl::Minutes(1);
// From the end of an attempt until the trainer is idle: it only frees memory.
inline constexpr absl::Duration kTrainerIdleGrace = absl::Seconds(30);
// From the order to exit until the process is gone.
inline constexpr absl::Duration kTrainerExitGrace = absl::Seconds(5);
// Tries for one attempt when trainers die before their hello, and the pause between tries,
// doubling.
inline constexpr int kTrainerStartTries = 3;
inline constexpr absl::Duration kTrainerRestartFirst = absl::Seconds(1);
inline constexpr absl::Duration kTrainerRestartMax = absl::Seconds(30);
// How long a stopping worker waits for its last items to be acknowledged.
inline constexpr absl::Duration kDrainAcknowledgeWait = absl::Seconds(10);
// How long a worker tries whose name another instance holds. By then a lease and the coordinator's
// start-up grace have expired, so the holder is alive.
inline constexpr absl::Duration kNameRefusedGrace = absl::Seconds(30);
// How long a pending trial waits if its newest checkpoint lies on a storage that no connected
// worker sees: as long as a reboot of a worker's host. Then it goes on from an older checkpoint or
// from the start.
inline constexpr absl::Duration kStorageWait = absl::Minutes(1);
// How often the coordinator looks at the clock. If it did not for longer than the tolerance, or a
// commit takes longer than that, the coordinator itself stood still; the excess then counts against
// nobody (coordinator/core/model/awake_clock.h).
// Both are shorter than the shortest deadline, kClosedPatience.
inline constexpr absl::Duration kAwakePulse = absl::Milliseconds(500);
inline constexpr absl::Duration kStallTolerance = absl::Milliseconds(600);
// A lost worker is listed this long, then forgotten, so that renamed workers do not accumulate.
inline constexpr absl::Duration kForgetWorker = absl::Hours(1);
// An instance's acknowledgement is forgotten after this much silence: its attempts ended with its
// lease. If it comes back all the same, it states where its count begins.
inline constexpr absl::Duration kForgetAcknowledged = absl::Hours(3);
// A stream without a first report by then no longer holds its place.
inline constexpr absl::Duration kFirstReportDeadline = absl::Seconds(10);
// A stream that has to end, and whose peer does not take the current write, is cut off after this.
inline constexpr absl::Duration kStreamEndGrace = absl::Seconds(5);
// How long a leaving worker waits for its stream to close in order.
inline constexpr absl::Duration kStreamCloseGrace = absl::Seconds(1);
// Deadline of every unary call that a program makes.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(30);

// While a coordinator restarts, dtctl submits again with the same request id. After this it is
// down, and the person should know.
inline constexpr absl::Duration kSubmitPatience = absl::Seconds(10);
// A waiting or watching dtctl outlives a restart of the coordinator and a reboot of its host.
inline constexpr absl::Duration kFollowPatience = absl::Minutes(5);
// A shell waits at the TAB key: if the coordinator takes longer, its completions are not offered.
inline constexpr absl::Duration kCompletionDeadline = absl::Seconds(1);
// `dtctl up`: a coordinator on this machine answers and knows its workers within this time,
// including the replay of a long journal.
inline constexpr absl::Duration kUpPatience = absl::Seconds(60);
// `dtctl down`: kCheckpointStopGrace for a worker's trainer, and a little for the worker itself;
// then both are killed.
inline constexpr absl::Duration kDownPatience = absl::Seconds(135);
// By then another `dtctl up` or `down` of the same person is done, or it was stopped in the middle.
inline constexpr absl::Duration kUpLockPatience = absl::Seconds(30);
// From the kill of a process until it is gone.
inline constexpr absl::Duration kKillPatience = absl::Seconds(10);
// Slots of one machine for which `dtctl up` starts workers, each a process.
inline constexpr int kUpSlots = 256;
// A context's name is also a folder's, and people read it in tables.
inline constexpr size_t kContextNameBytes = 64;
// Another dtctl changes the file of contexts within milliseconds. After this the person gets
// an error: one hangs, or a lock of a network file system is stuck.
inline constexpr absl::Duration kContextsLockPatience = absl::Seconds(10);
// A person's file of contexts, some 200 bytes each.
inline constexpr size_t kContextsFileBytes = 64 << 10;
// The longest error text on a terminal: it may quote a complete file.
inline constexpr size_t kErrorTextBytes = 4096;
// A unary call without a deadline, or with a longer one, is refused: nothing waits for ever.
inline constexpr absl::Duration kCallDeadlineMax = absl::Seconds(60);
// An exchange over HTTP, from the connection to the last byte of the answer: a scrape of the
// largest page over a slow network. Prometheus itself gives up after ten seconds.
inline constexpr absl::Duration kHttpExchange = absl::Seconds(10);
// How often a worker touches the file of --alive-file. Health checks call a worker dead if it did
// not for a minute. While it joins it does so at least every 35 s, a call and the pause after it.
inline constexpr absl::Duration kAlivePeriod = absl::Seconds(2);
// The core loop must answer within this time, or /healthz fails and the watchdog restarts the
// process.
inline constexpr absl::Duration kLoopLate = absl::Seconds(5);
// The same for the threads that serve calls and streams: after it leases expire. They are asked
// once a second.
inline constexpr absl::Duration kStreamsLate = kLease;
inline constexpr absl::Duration kPulseEvery = absl::Seconds(1);
// At a stop we end every call and stream. Idle clients that rarely look at their connection are
// waited for no longer than this.
inline constexpr absl::Duration kShutdownDrain = absl::Seconds(1);

// --- Queues and messages ---
// Events that wait for the core thread. A batch is drained in milliseconds; more means overload.
inline constexpr size_t kMailboxEvents = 16384;
// Places among them kept for control calls when reports fill the rest.
inline constexpr size_t kMailboxReservedForControl = 1024;
// Bytes of reports among them, so that a thousand full reports do not use up the memory.
inline constexpr size_t kMailboxBytes = 16 << 20;
// Pages of metrics and logs that wait for the one reader thread; each takes milliseconds.
inline constexpr size_t kReadsWaiting = 256;
// Submissions and plans that are checked, expanded and costed at once: beside two of them a small
// host still serves its workers.
inline constexpr int kPreparingThreads = 2;
// Submissions and plans that wait for a thread: their number, and the bytes of their messages.
inline constexpr size_t kPreparingCalls = 64;
inline constexpr size_t kPreparingBytes = 32 << 20;
// Time limit for one of them: 10,000 trials take a second or two.
inline constexpr absl::Duration kPreparingPatience = absl::Seconds(20);
// Events of one drain, so that a commit takes milliseconds and a call waits for at most two
// commits.
inline constexpr size_t kDrainEvents = 32;
// Trials that one event, or one tick, tries to place, so that a large experiment on a large free
// fleet does not hold up other events.
inline constexpr int kPlacementsPerEvent = 4;
inline constexpr int kPlacementsPerTick = 64;
inline constexpr size_t kControlMessageBytes = 8 << 20;  // a 10,000-trial expansion fits
inline constexpr size_t kReportMessageBytes = 4 << 20;
// Bytes of an error text in transit, percent-encoded in a trailer: gRPC turns an answer with more
// than 8 KiB of trailers into RESOURCE_EXHAUSTED and drops our text.
inline constexpr size_t kStatusMessageBytes = 4 << 10;
// Limits of one report; further items follow in the next.
inline constexpr size_t kReportItemsBytes = 1 << 20;
inline constexpr size_t kReportItems = 1024;
// Bytes of unacknowledged items that a worker keeps before it thins step rows.
inline constexpr size_t kWorkerBufferBytes = 64 << 20;
// Items sent to the coordinator and not yet acknowledged; at this number a worker sends no more
// until some are. Items never sent may still merge into one (item_buffer.h), so this also bounds
// the counters of dropped items: 20 MiB of them.
inline constexpr size_t kWorkerItemsSent = 1 << 16;
// Bytes of those that log text may fill: half a minute of a rank that prints as much as allowed.
inline constexpr size_t kWorkerLogBufferBytes = 16 << 20;
// Attempts whose checkpoints a worker still has to look for on a storage that does not answer.
// Attempts beyond are left out; the worker of a later attempt reports their checkpoints.
inline constexpr size_t kLooksWaiting = 4;
// A new look, or the end, wakes the looking thread at once. If a wake-up is lost, the thread goes
// on after this.
inline constexpr absl::Duration kLookWait = absl::Minutes(1);
// Ended attempts that a worker remembers, so that orders in flight do not start them again. The
// orders of one stream arrive in order, so the newest alone would suffice.
inline constexpr size_t kRememberedAttempts = 64;
inline constexpr size_t kRowsPerChunk = 256;
// An average row has some 200 bytes; the rest is for fields that a newer worker adds.
inline constexpr size_t kRowBytes = 1 << 11;
// Operations along axes; a row reports at most this many.
inline constexpr int kCollectivesPerRow = 18;
// The status of an attempt, or an item without rows and log text: its texts within kTextBytes and
// kNameBytes, and room for fields that a newer worker adds.
inline constexpr size_t kReportEntryBytes = 16 << 10;
// Connections over HTTP: scrapers and health checks are a handful. A newer one pushes out the
// oldest, so however many are left open, one that sends its request is answered.
inline constexpr size_t kHttpConnections = 256;
// Answers among them that may be in progress: one of /metrics takes some megabytes.
inline constexpr size_t kHttpWriting = 16;
inline constexpr size_t kHttpHeadBytes = 8 << 10;  // of a request, as in other servers
inline constexpr size_t kPageDefault = 100;
inline constexpr size_t kPageMax = 1000;
// Bytes of the entries in one page of a list: half of kControlMessageBytes, far below what a client
// refuses.
inline constexpr size_t kPageBytes = 4 << 20;
inline constexpr size_t kMetricRowsPageDefault = 5000;
inline constexpr size_t kMetricRowsPageMax = 20000;
// A page of logs ends after this many bytes, far below kControlMessageBytes.
inline constexpr size_t kLogPageBytes = 1 << 20;

// --- Sizes of what people send ---
inline constexpr size_t kExperimentFileBytes = 1 << 20;
inline constexpr size_t kExperimentFileDepth = 64;
inline constexpr size_t kExperimentFileNodes = 100000;
// A key of a file: names have kNameBytes, and the path of each value below a key begins with the
// key.
inline constexpr size_t kKeyBytes = 1024;
// Changes of a file that a submission carries beside it, each of kTextBytes: more belong into the
// file.
inline constexpr size_t kOverrides = 256;
// A longer line of a file is not quoted in errors: nobody reads it, and a file of one line would be
// quoted a hundred times.
inline constexpr size_t kQuotedLineBytes = 64 << 10;
inline constexpr size_t kTrialsPerExperiment = 10000;
// Combinations of a grid before exclude: checking more against a thousand exclusions each would
// hold up the coordinator for seconds.
inline constexpr size_t kCombinations = 100'000;
inline constexpr int kParameters = 64;  // a name and a column each
inline constexpr int kExclusions = 1000;
inline constexpr int kExclusionTerms = 10'000;  // values in all of them: each trial is checked
                                                // against all
inline constexpr int kInclusions = 1000;        // written by hand; more is a grid
// Values of one condition of a parameter: each draw compares with all of them.
inline constexpr int kConditionValues = 64;
// Values of one parameter: one for each trial, and one for each exclusion to take out.
inline constexpr int kParameterValues = static_cast<int>(kTrialsPerExperiment) + kExclusions;
// Issues that a check lists: nobody fixes more at a time, and a list of a million wrong values
// would be answered with gigabytes.
inline constexpr size_t kIssues = 10'000;
inline constexpr int kSeeds = 100;  // of each configuration; a mean needs no more
// Points of a space that a check draws: a share of 1 in 20 is measured to within 0.7 %.
inline constexpr int kPointsChecked = 1000;
// Bytes of the parameter values of all trials of one experiment, each trial's counted. The journal
// lists them once, but a submission is fully expanded before it is taken. 10,000 trials of 20
// parameters fit.
inline constexpr size_t kTrialValuesBytes = 16 << 20;
// A record of the journal: half of kStoredValueBytes; the data written beside a record is small.
inline constexpr size_t kRecordBytes = 32 << 20;
// The specification in a submission: together with the file's text it fits into the answer to a
// client that asks for it, a message of kControlMessageBytes.
inline constexpr size_t kSpecificationBytes = 4 << 20;
inline constexpr size_t kLiveExperiments = 10000;  // not yet ended, at once
inline constexpr size_t kNameBytes = 256;          // experiment and worker names
inline constexpr size_t kRequestIdBytes = 64;      // a short random text
inline constexpr size_t kLabels = 64;
// Generated texts of one evaluation: with the other fields they fit into kReportEntryBytes.
inline constexpr size_t kSamples = 4;
inline constexpr size_t kSampleBytes = 3 << 10;
// Metrics of one evaluation that have no field of their own, and the bytes of a metric's name,
// which is a column's: with the samples they fit into kReportEntryBytes.
inline constexpr size_t kMetrics = 32;
inline constexpr size_t kMetricNameBytes = 64;
inline constexpr size_t kTextBytes = 4096;  // messages, reasons, label values
// Author of a change to an experiment: a user's name, or a certificate's, which has at most 64
// bytes.
inline constexpr size_t kWhoBytes = 64;
// Changes of one experiment that are shown; older ones are only in the journal.
inline constexpr size_t kEditsPerExperiment = 50;
inline constexpr int32_t kWorldSizeMax = 16384;

// --- Searches ---
// Draws for one configuration before a search gives up. A submission must show that one in twenty
// draws passes the checks; then 64 misses in a row have a chance of one in 27.
inline constexpr uint32_t kRedraws = 64;
// Trials that a search's model gets as bad ones, only the newest: so a proposal costs as much after
// 10,000 trials as after 1,000, and finds equally good values.
inline constexpr size_t kTpeBadMost = 200;
// Combinations searched for one that was not tried, when draws of the model give only tried ones:
// some milliseconds, and ten times the trials that an experiment may have.
inline constexpr uint64_t kCombinationsWalked = 100'000;

// --- Scheduling ---
// Constraints on workers (device, accelerator, labels) that live trials may have, and shapes (a
// constraint and sizes). The cost of an event grows with these.
inline constexpr size_t kConstraints = 64;
inline constexpr size_t kShapes = 1024;
// Lines of the queue that one event tries.
inline constexpr int kLinesPerEvent = 64;
// Reserved slots are lent only if they stay free this long, or the borrower ends before: a save
// takes seconds.
inline constexpr absl::Duration kLendLeast = absl::Minutes(5);
// A trial that had to give back borrowed slots this often borrows no more.
inline constexpr int kLentReturns = 3;
// After it began to train an attempt is protected this long from preemption and resizing, twice as
// long after each requested stop of its trial, so that no trial is stopped again and again.
inline constexpr absl::Duration kProtectFirst = absl::Minutes(1);
inline constexpr absl::Duration kProtectMost = absl::Hours(1);
// An elastic gang grows over slots that were idle, and wanted by no line, for this long: a client
// that just heard of freed slots may ask for them.
inline constexpr absl::Duration kGrowAfter = absl::Seconds(30);
// An elastic gang resizes at most this often, and only with as much left to train: each time it
// pays for a save, a start and a warm-up.
inline constexpr absl::Duration kResizeEvery = absl::Minutes(10);
// How long the slots for its next size are kept for it while it saves and leaves.
inline constexpr absl::Duration kHoldForResize = absl::Seconds(30);
// Attempts in a row that a worker's crash ends before the worker is quarantined, and how long the
// quarantine lasts, doubled each time.
inline constexpr int kQuarantineEnds = 3;
inline constexpr absl::Duration kQuarantineFirst = absl::Minutes(30);
inline constexpr absl::Duration kQuarantineMost = absl::Hours(8);
// Errors of an experiment that a new one is compared with: takes some tenths of a millisecond.
inline constexpr size_t kErrorsCompared = 256;
// At most one in this many workers of a kind is quarantined within this window, but always at least
// one: if more seem broken at once, the cause is most likely common to all, and the fleet should go
// on.
inline constexpr size_t kQuarantineShare = 4;
inline constexpr absl::Duration kQuarantineWindow = absl::Hours(1);

// --- Programs as trials ---
// The words of a command and the bytes of one, as a person writes them by hand.
inline constexpr size_t kCommandWords = 256;
inline constexpr size_t kCommandBytes = 64 << 10;
// The same with parameter values filled in: one word, which is Linux' limit for an argument, and
// all words, texts and variables of a trial, which travel in its orders.
inline constexpr size_t kFilledTextBytes = 128 << 10;
inline constexpr size_t kFilledBytes = 1 << 20;
// A packed folder of code: source, no data and no weights.
inline constexpr size_t kCodeBytes = 32 << 20;
inline constexpr size_t kCodeFiles = 10'000;
inline constexpr size_t kCodePathBytes = 1024;
// Patterns of ignored files that travel all the same; people write them by hand.
inline constexpr int kCodePatterns = 64;
inline constexpr size_t kCodePartBytes = 1 << 20;
// All packed code of a journal; code that no experiment names is dropped first.
inline constexpr uint64_t kCodeQuotaBytes = 1ull << 30;
// Bytes kept of a work tree's changes.
inline constexpr size_t kCodeChangesBytes = 16 << 10;
// A line that a program reports. It is written at once, so that lines of several writers do not
// mix.
inline constexpr size_t kProgramLineBytes = 64 << 10;
// A program's reports kept per second; of more, the newest are kept. Each is a record of the
// journal.
inline constexpr int kProgramReportsPerSecond = 10;
inline constexpr int kProgramReportsBurst = 100;
// A hint about a program's reports: a sentence that quotes a line of its output, shown in a table
// beside its trial.
inline constexpr size_t kHintBytes = 600;
// A program that must stop has `timeout.stop` to save, kCheckpointStopGrace by default. If its
// trial is over or cancelled, it has this long to leave.
inline constexpr absl::Duration kProgramLeaveGrace = absl::Seconds(2);
// `timeout.stop`: whatever is to take the slots waits for it.
inline constexpr absl::Duration kStopGraceMost = absl::Hours(1);
// Returns the time to save. `seconds`: the specification's `stop_seconds`; dtrain's own trainer and
// older versions have 0 there.
inline absl::Duration StopGrace(double seconds) {
  return seconds > 0 ? absl::Seconds(seconds) : kCheckpointStopGrace;
}
// Time of the tools that read the stacks of a program that hangs, before it has to leave.
inline constexpr absl::Duration kStacksPatience = absl::Seconds(10);
// `timeout.report`: nobody can tell a hang from a pause of less than a second, and a time beyond a
// month is `never`.
inline constexpr absl::Duration kReportTimeoutLeast = absl::Seconds(1);
inline constexpr absl::Duration kReportTimeoutMost = absl::Hours(24 * 30);
// Files in a program's checkpoint folder that are listed with their hashes.
inline constexpr size_t kProgramCheckpointFiles = 10'000;

// A program that ends this soon after its start without a report most likely ends so each time:
// importing a large library from a cold disk takes half of it.
inline constexpr absl::Duration kEarlyEnd = absl::Minutes(1);
// Trials of an experiment that end in the same way at once, before any got on, after which the
// others are not tried: one may have odd values, two may share them.
inline constexpr size_t kFailAlike = 3;

// --- Plans ---
// Draws that stand for the trials of a search whose values are proposed later.
inline constexpr int kPlanDraws = 64;
// Kinds of trials that a plan lists.
inline constexpr int kPlannedKinds = 1000;
// Trials whose pace a plan looks at, the newest first: takes the core some milliseconds.
inline constexpr uint32_t kTrialsCompared = 64;

// --- Kept for one trial or worker ---
// Evaluations of one trial in memory: the newest and the best; the journal has all.
inline constexpr size_t kEvaluationsPerTrial = 1024;
// Measured times of collectives, over all devices, numbers of ranks, operations and sizes. Each has
// a few hundred bytes, and a fleet measured once in every shape has some hundreds.
inline constexpr size_t kNetworkFigures = 4096;
// Limits of one measurement: its sizes, the bytes of the largest, of which each rank holds three
// buffers, and how often each is timed.
inline constexpr size_t kNetworkSizes = 16;
inline constexpr uint64_t kNetworkBytesMin = 256;
inline constexpr uint64_t kNetworkBytesMax = uint64_t{1} << 30;
inline constexpr int kNetworkRoundsMax = 100;
// Checkpoints of one trial. Retention on the workers keeps few; a worker that registers without end
// pushes out its oldest.
inline constexpr size_t kCheckpointsPerTrial = 256;
// Attempts of one trial: progress renews the retry budget but not this limit.
inline constexpr size_t kAttemptsPerTrial = 1000;
// A slot holds one attempt, and perhaps the one before while that leaves; more means a broken
// worker.
inline constexpr int kAttemptsPerReport = 8;
// Streams of one life of a worker, which numbers them from 1: at its fastest, five a second, this
// lasts 27 years. No worker reaches a higher number, and accepting one would keep the worker itself
// out for ever.
inline constexpr uint64_t kSessionsMax = uint64_t{1} << 32;
// Workers that the coordinator knows at once: twice the number that one coordinator is meant for.
inline constexpr size_t kWorkers = 20000;
// Worker names that a person drained or the coordinator quarantined; the workers need not be
// connected.
inline constexpr size_t kMarks = kWorkers;
// Open streams: for each worker one that serves and one that is being superseded.
inline constexpr size_t kStreams = 2 * kWorkers;
// Instances of one worker name whose acknowledgements are remembered beside the newest. A forgotten
// one is refused because its numbers do not start where they must; nothing is counted twice.
inline constexpr size_t kInstancesPerWorker = 4;
// Earlier lives of a slot's worker that it knows to have ended: several, if it is restarted again
// and again before the coordinator answers.
inline constexpr size_t kEndedInstances = 16;
// Acknowledgements kept on disk over all names, newest first: twice the instances that may be
// connected at once, so that a start never reads a fleet's full history.
inline constexpr size_t kAcknowledgementsOnDisk = 2 * kWorkers;
// Checkpoints listed in the answer to a delete, a message of some megabytes.
inline constexpr size_t kLeftBehindMax = 10000;

// --- Logs ---
inline constexpr size_t kLogLineBytes = 8 << 10;
inline constexpr int kLogLinesPerSecond = 200;  // for the pipe of a rank
// If a rank prints more lines in a second, the newest wait for the next second and use its
// allowance: a traceback and the library output after it.
inline constexpr size_t kLogLinesHeld = kLogLinesPerSecond;
inline constexpr size_t kLogChunkBytes = 64 << 10;
// Size of a chunk besides its text: the numbers beside it and its entry in the index.
inline constexpr size_t kLogRowBytes = 64;
inline constexpr size_t kLogFirstBytes = 1 << 20;    // kept from each trial's start
inline constexpr size_t kLogNewestBytes = 16 << 20;  // kept from each trial's end
// Trials whose log sizes the store remembers at once; the sizes of others are read from the table
// again.
inline constexpr size_t kLogTrials = 16384;

// --- Disk ---
inline constexpr uint64_t kFreeBytesToSubmit = 1ull << 30;

// --- The journal ---
// A journal up to this size is fully checked at every start, which takes a second or two; a larger
// one after an unclean stop, and by `dtcoord check`.
inline constexpr uint64_t kJournalCheckedBytes = 256 << 20;
// Damages that a check lists; a person restores a backup whatever their number.
inline constexpr size_t kDamagesTold = 20;
// Records between two snapshots of the durable state: a start replays at most about twice as many,
// in some tenths of a second.
inline constexpr int64_t kSnapshotRecords = 20000;
// A value in the store's database.
inline constexpr int kStoredValueBytes = 64 << 20;
// The store's write-ahead log, in pages of 8 KiB. Folding it into the file begins at 8 MiB, on a
// thread of its own. At 32 MiB the writer folds the rest and the log starts again, which also
// bounds how much a start after a crash has to read.
inline constexpr int kFoldBesidePages = 1024;
inline constexpr int kFoldInPlacePages = 4096;
// Rows of a deleted experiment, and records covered by a snapshot, that one commit clears from each
// table: takes some milliseconds.
inline constexpr int64_t kClearedPerCommit = 256;
// Snapshots kept: the newest, and one to fall back to.
inline constexpr int kSnapshotsKept = 2;
// Bytes of one experiment in a snapshot: far below the limit of one value in the store. With more,
// no snapshot is made, and a start replays records.
inline constexpr size_t kSnapshotPartBytes = 48 << 20;
// Effects that may wait for the current commit, so that under load a commit takes two drains at
// once; beyond that the core thread waits too.
inline constexpr size_t kCommitEvents = 2 * kDrainEvents;

}  // namespace dt::limits
