// limits.h: every bound of the control plane, with its reason. Nothing queues, retries, waits or
// grows without one of these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace dt::limits {

// --- Time ---
// A worker tells it lives this often; a lease tolerates several losses.
inline constexpr absl::Duration kHeartbeat = absl::Seconds(1);
// Silence after which an attempt is lost: ten heartbeats, so that a busy two-core host keeps its
// trial.
inline constexpr absl::Duration kLease = absl::Seconds(10);
// After the coordinator's start no lease runs out before workers had time to reconnect with
// backoff.
inline constexpr absl::Duration kStartupGrace = absl::Seconds(15);
// How long trainers go on without a coordinator, by default: longer than a reboot.
inline constexpr absl::Duration kDisconnectGrace = absl::Minutes(30);
// A rank told to abandon that is still inside a collective after this is killed.
inline constexpr absl::Duration kAbandonGrace = absl::Seconds(2);
// A prepared gang that does not train within this is ended as a hang: connecting takes seconds.
inline constexpr absl::Duration kRendezvousTimeout = absl::Minutes(2);
// Preparing reads shard headers and fingerprints; a network file system may be slow.
inline constexpr absl::Duration kPrepareTimeout = absl::Minutes(10);
// A running gang without a step for the larger of this and 20 × its longest step is hung. CPU steps
// of a large model take minutes; evaluation and checkpoints count as progress.
inline constexpr absl::Duration kHangFloor = absl::Minutes(10);
// The same once its own steps have shown how long one takes, and while no rank says that it does
// something longer. Longer than a lease, so that a host that died is lost and not hung.
inline constexpr absl::Duration kHangLeast = absl::Seconds(12);
// A worker whose gang goes on stepping is alive, though the coordinator hears nothing from it: for
// so long at most, since nobody could stop it.
inline constexpr absl::Duration kGangLease = absl::Minutes(5);
// A stream that closed while a peer's collective failed is waited for so long: a connection that
// broke for a moment is there again after kReconnectFirst.
inline constexpr absl::Duration kEvidenceGrace = absl::Milliseconds(500);
// Two hosts that did not reach each other are kept apart for so long where others are free, then
// tried again; so many pairs are remembered, and of a gang on more hosts nobody knows which it was.
inline constexpr absl::Duration kApart = absl::Minutes(10);
inline constexpr size_t kApartPairs = 1024;
inline constexpr size_t kApartHosts = 8;
// A choice of slots without both of a pair is tried with one host less, then another, so deep.
inline constexpr int kApartTries = 3;
// Without a word in the file about checkpoints the first of an attempt comes after this, and after
// lost attempts the next ones as often as losses and the cost of saving say, from kSaveLeast on.
inline constexpr absl::Duration kSaveFirst = absl::Seconds(10);
inline constexpr absl::Duration kSaveLeast = absl::Seconds(1);
// Reconnect backoff of a worker: first try soon, never a herd.
inline constexpr absl::Duration kReconnectFirst = absl::Milliseconds(200);
inline constexpr absl::Duration kReconnectMax = absl::Seconds(5);
// A worker whose certificate is refused tries as often: only a person can change that, and the
// trainer that it holds goes on meanwhile.
inline constexpr absl::Duration kReconnectRefused = absl::Minutes(1);
// The least backoff behind a fault of a worker's host, which costs the trial nothing: a full disk
// may stay full. Doubles as any.
inline constexpr absl::Duration kWorkerFaultBackoff = absl::Seconds(5);
// Retry backoff doubles up to this.
inline constexpr absl::Duration kRetryBackoffMax = absl::Minutes(5);
// From the second end in a row, doubled with each, whatever the file says: a program that cannot
// start would be started hundreds of times a minute.
inline constexpr absl::Duration kRetryBackoffLeast = absl::Seconds(1);
// Before a trial that found a full disk is tried again, doubled with each: a person has to free
// some space, and looks at it first.
inline constexpr absl::Duration kFullDiskWait = absl::Seconds(30);
// A trainer told to save and stop has this long to write the checkpoint of a large model; then it
// is killed. A unit's stop timeout must be longer.
inline constexpr absl::Duration kCheckpointStopGrace = absl::Minutes(2);
// From the start of a trainer process to its hello: loading LibTorch from a cold disk takes
// seconds, a predecessor still holding the slot's lock a little more.
inline constexpr absl::Duration kTrainerStartTimeout = absl::Minutes(2);
// A predecessor that is being killed holds the slot's lock for a moment; the start's time-out is
// longer.
inline constexpr absl::Duration kSlotLockPatience = absl::Minutes(1);
// From the end of an attempt to the trainer being idle: it frees memory, no more.
inline constexpr absl::Duration kTrainerIdleGrace = absl::Seconds(30);
// From being told to exit to being gone.
inline constexpr absl::Duration kTrainerExitGrace = absl::Seconds(5);
// Trainers that die before they say hello: tries for one attempt, and the pause between, doubling.
inline constexpr int kTrainerStartTries = 3;
inline constexpr absl::Duration kTrainerRestartFirst = absl::Seconds(1);
inline constexpr absl::Duration kTrainerRestartMax = absl::Seconds(30);
// A stopping worker waits this long for its last items to be acknowledged.
inline constexpr absl::Duration kDrainAcknowledgeWait = absl::Seconds(10);
// A worker whose name is held by another instance tries this long: a lease and the coordinator's
// start-up grace have run out by then, so the holder is alive.
inline constexpr absl::Duration kNameRefusedGrace = absl::Seconds(30);
// A pending trial whose newest checkpoint lies on a storage that no connected worker sees waits
// this long for one, a reboot of a worker's host, then goes on from an older checkpoint or from the
// start.
inline constexpr absl::Duration kStorageWait = absl::Minutes(1);
// The coordinator looks at the clock this often; that it did not for longer than the tolerance, or
// that a commit takes longer, means that it stood still itself: the rest of that time counts
// against nobody (coordinator/core/awake_clock.h).
inline constexpr absl::Duration kAwakePulse = absl::Seconds(1);
inline constexpr absl::Duration kStallTolerance = absl::Seconds(2);
// A lost worker is listed this long, then forgotten, so that renamed workers do not pile up.
inline constexpr absl::Duration kForgetWorker = absl::Hours(1);
// An acknowledgement of an instance not heard of for this long is forgotten: its attempts ended
// with its lease. Should it still come back, it says itself from where it counts.
inline constexpr absl::Duration kForgetAcknowledged = absl::Hours(3);
// A stream whose first report has not come by then holds its place for nobody.
inline constexpr absl::Duration kFirstReportDeadline = absl::Seconds(10);
// A stream that is to end and whose peer does not take the write under way is cut off after this.
inline constexpr absl::Duration kStreamEndGrace = absl::Seconds(5);
// What a leaving worker waits for its stream to close in order.
inline constexpr absl::Duration kStreamCloseGrace = absl::Seconds(1);
// Every unary call a program makes.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(30);

// dtctl submits again, with the same request id, while a coordinator restarts; longer than this it
// is down, and the person should know.
inline constexpr absl::Duration kSubmitPatience = absl::Seconds(10);
// A waiting or watching dtctl outlives a restart of the coordinator and a reboot of its host.
inline constexpr absl::Duration kFollowPatience = absl::Minutes(5);
// A shell waits at the TAB key: what a coordinator cannot say within this is not offered.
inline constexpr absl::Duration kCompletionDeadline = absl::Seconds(1);
// `dtctl up`: a coordinator of this machine answers and its workers are known within this, the
// replay of a long journal included.
inline constexpr absl::Duration kUpPatience = absl::Seconds(60);
// `dtctl down`: kCheckpointStopGrace for a worker's trainer, and a little for itself; then both are
// killed.
inline constexpr absl::Duration kDownPatience = absl::Seconds(135);
// Another `dtctl up` or `down` of the same person is done by then, or was stopped in the middle.
inline constexpr absl::Duration kUpLockPatience = absl::Seconds(30);
// From a process being killed to its being gone.
inline constexpr absl::Duration kKillPatience = absl::Seconds(10);
// Slots of one machine that `dtctl up` starts workers for; a process each.
inline constexpr int kUpSlots = 256;
// A context's name is a folder's too, and is read in tables.
inline constexpr size_t kContextNameBytes = 64;
// Another dtctl changes the file of contexts within milliseconds; one that stands still, or a lock
// of a network file system, is told to the person after this.
inline constexpr absl::Duration kContextsLockPatience = absl::Seconds(10);
// A person's file of contexts, some 200 bytes each.
inline constexpr size_t kContextsFileBytes = 64 << 10;
// The longest error text on a terminal: what it quotes may be a whole file.
inline constexpr size_t kErrorTextBytes = 4096;
// A unary call without a deadline, or with a longer one, is refused: nothing waits for ever.
inline constexpr absl::Duration kCallDeadlineMax = absl::Seconds(60);
// One exchange over HTTP, from the connection to the last byte of the answer: a scrape of the
// largest page over a slow network. Prometheus gives up after ten seconds itself.
inline constexpr absl::Duration kHttpExchange = absl::Seconds(10);
// How often a worker touches the file of --alive-file. Health checks call one dead that has not for
// a minute; while it joins it does at least each 35 s, a call and the pause behind it.
inline constexpr absl::Duration kAlivePeriod = absl::Seconds(2);
// The core loop answers within this, or /healthz fails and the watchdog restarts the process.
inline constexpr absl::Duration kLoopLate = absl::Seconds(5);
// So do the threads that serve calls and streams: behind it leases run out. They are asked once a
// second.
inline constexpr absl::Duration kStreamsLate = kLease;
inline constexpr absl::Duration kPulseEvery = absl::Seconds(1);
// At a stop every call and stream is ended by us; idle clients that look at their connection only
// now and then are not waited for longer than this.
inline constexpr absl::Duration kShutdownDrain = absl::Seconds(1);

// --- Queues and messages ---
// Events waiting for the core thread. A batch is drained in milliseconds; more means overload.
inline constexpr size_t kMailboxEvents = 16384;
// How many of those are kept for control calls when reports fill the rest.
inline constexpr size_t kMailboxReservedForControl = 1024;
// Bytes of reports among them, so that a thousand full reports do not fill the memory.
inline constexpr size_t kMailboxBytes = 16 << 20;
// Pages of metrics and logs waiting for the one reader thread; each takes milliseconds.
inline constexpr size_t kReadsWaiting = 256;
// Submissions and plans that are checked, expanded and reckoned at once: beside two of them a small
// host still serves its workers.
inline constexpr int kPreparingThreads = 2;
// Those that wait for a thread: how many, and bytes of their messages.
inline constexpr size_t kPreparingCalls = 64;
inline constexpr size_t kPreparingBytes = 32 << 20;
// One takes so long at most: 10,000 trials take a second or two.
inline constexpr absl::Duration kPreparingPatience = absl::Seconds(20);
// Events of one drain, so that a commit takes milliseconds, and a call waits for two of them at
// most.
inline constexpr size_t kDrainEvents = 32;
// Trials that one event, or one tick, tries to place: a large experiment on a large free fleet does
// not hold up what comes meanwhile.
inline constexpr int kPlacementsPerEvent = 4;
inline constexpr int kPlacementsPerTick = 64;
inline constexpr size_t kControlMessageBytes = 8 << 20;  // a 10,000-trial expansion fits
inline constexpr size_t kReportMessageBytes = 4 << 20;
// The text of a refusal as it travels, percent-encoded in a trailer: gRPC turns an answer with more
// than 8 KiB of trailers into RESOURCE_EXHAUSTED without a word of ours.
inline constexpr size_t kStatusMessageBytes = 4 << 10;
// A report carries at most this much; the rest follows in the next.
inline constexpr size_t kReportItemsBytes = 1 << 20;
inline constexpr size_t kReportItems = 1024;
// Unacknowledged items a worker keeps before it thins step rows.
inline constexpr size_t kWorkerBufferBytes = 64 << 20;
// Items sent to the coordinator and not yet acknowledged; a worker sends no more before some are.
// Those never sent may still become one (item_buffer.h), so this bounds the counts of what was
// dropped: 20 MiB of them.
inline constexpr size_t kWorkerItemsSent = 1 << 16;
// How much of that log text may fill: half a minute of a rank that prints all it may.
inline constexpr size_t kWorkerLogBufferBytes = 16 << 20;
// Attempts whose checkpoints a worker is to look for in a storage that does not answer. What is
// left out is told by the worker of a later attempt.
inline constexpr size_t kLooksWaiting = 4;
// A look, or the end, wakes the thread that looks at once. If a wake-up is lost, it goes on after
// this.
inline constexpr absl::Duration kLookWait = absl::Minutes(1);
// Attempts a worker remembers to have ended, so that orders in flight do not start them again. The
// orders of one stream arrive in order, so that the newest alone would do.
inline constexpr size_t kRememberedAttempts = 64;
inline constexpr size_t kRowsPerChunk = 256;
// One row on average: some 200 bytes, and room for what a newer worker adds.
inline constexpr size_t kRowBytes = 1 << 11;
// Operations along axes; one goes once a row.
inline constexpr int kCollectivesPerRow = 18;
// The status of an attempt, or an item without rows and log text: their texts within kTextBytes
// and kNameBytes, and room for what a newer worker adds.
inline constexpr size_t kReportEntryBytes = 16 << 10;
// Connections over HTTP: scrapers and health checks are a handful. A newer one pushes out the
// oldest, so that however many are left open, one that sends its request is answered.
inline constexpr size_t kHttpConnections = 256;
// How many of those may be answers under way: one of /metrics takes some megabytes.
inline constexpr size_t kHttpWriting = 16;
inline constexpr size_t kHttpHeadBytes = 8 << 10;  // of a request, as other servers have it
inline constexpr size_t kPageDefault = 100;
inline constexpr size_t kPageMax = 1000;
// The entries of one page of a list: half of kControlMessageBytes, far from what a client refuses.
inline constexpr size_t kPageBytes = 4 << 20;
inline constexpr size_t kMetricRowsPageDefault = 5000;
inline constexpr size_t kMetricRowsPageMax = 20000;
// A page of logs ends after this many bytes, far under kControlMessageBytes.
inline constexpr size_t kLogPageBytes = 1 << 20;

// --- Sizes of what people send ---
inline constexpr size_t kExperimentFileBytes = 1 << 20;
inline constexpr size_t kExperimentFileDepth = 64;
inline constexpr size_t kExperimentFileNodes = 100000;
// One key of a file: names have kNameBytes, and each value below it has a path that begins with it.
inline constexpr size_t kKeyBytes = 1024;
// Changes of a file that come beside it in a submission, each of kTextBytes: more belong into it.
inline constexpr size_t kOverrides = 256;
// A longer line of a file is not quoted beside what is wrong in it: nobody reads it, and a file of
// one line would be quoted a hundred times.
inline constexpr size_t kQuotedLineBytes = 64 << 10;
inline constexpr size_t kTrialsPerExperiment = 10000;
// Combinations of a grid before exclude: walking more, a thousand exclusions each, would hold up
// the coordinator for seconds.
inline constexpr size_t kCombinations = 100'000;
inline constexpr int kParameters = 64;  // a name and a column each
inline constexpr int kExclusions = 1000;
inline constexpr int kExclusionTerms = 10'000;  // values in all of them: each trial meets them all
inline constexpr int kInclusions = 1000;        // written by hand; more is a grid
// Values of one parameter: a trial each, and those that exclusions take out.
inline constexpr int kParameterValues = static_cast<int>(kTrialsPerExperiment) + kExclusions;
// Issues that a check names: nobody mends more at a time, and a list of a million wrong values
// would be answered with gigabytes.
inline constexpr size_t kIssues = 10'000;
inline constexpr int kSeeds = 100;  // of each configuration; a mean needs no more
// Points of a space that a check draws: a share of 1 in 20 is told to within 0.7 %.
inline constexpr int kPointsChecked = 1000;
// Parameter values of all trials of one experiment, each trial's counted: the journal lists them
// once, but a submission is expanded whole before it is taken. 10,000 trials of 20 parameters
// fit.
inline constexpr size_t kTrialValuesBytes = 16 << 20;
// One record of the journal: half of kStoredValueBytes, and what is written beside one is small.
inline constexpr size_t kRecordBytes = 32 << 20;
// The specification in a submission: with the file's text beside it, it fits into the answer to
// whoever asks for it, which is a message of kControlMessageBytes.
inline constexpr size_t kSpecificationBytes = 4 << 20;
inline constexpr size_t kLiveExperiments = 10000;  // not yet ended, at once
inline constexpr size_t kNameBytes = 256;          // experiment and worker names
inline constexpr size_t kRequestIdBytes = 64;      // a short random text
inline constexpr size_t kLabels = 64;
// Generated texts of one evaluation: with the rest of it they fit into kReportEntryBytes.
inline constexpr size_t kSamples = 4;
inline constexpr size_t kSampleBytes = 3 << 10;
// Metrics of one evaluation that have no field of their own, and the name of one, which is a
// column's: with the samples they fit into kReportEntryBytes.
inline constexpr size_t kMetrics = 32;
inline constexpr size_t kMetricNameBytes = 64;
inline constexpr size_t kTextBytes = 4096;  // messages, reasons, label values
// Who changed an experiment: a user's name, or a certificate's, which has 64 at most.
inline constexpr size_t kWhoBytes = 64;
// What people changed of one experiment, as it is shown: older changes are in the journal alone.
inline constexpr size_t kEditsPerExperiment = 50;
inline constexpr int32_t kWorldSizeMax = 16384;

// --- Searches ---
// Draws for one configuration before a search gives up: where one in twenty passes the checks,
// which is what a submission must show, 64 misses in a row are one in 27.
inline constexpr uint32_t kRedraws = 64;
// Trials that the model of a search is shown as bad ones, the newest: a proposal then costs as much
// after 10,000 trials as after 1,000, and finds as good values.
inline constexpr size_t kTpeBadMost = 200;
// Combinations that are looked at for one that was not tried, where draws of the model give only
// what was: some milliseconds, and ten times what an experiment may try.
inline constexpr uint64_t kCombinationsWalked = 100'000;

// --- Scheduling ---
// What trials may ask of workers besides their number: constraints (device, accelerator, labels)
// and shapes (a constraint and sizes) that are live at once. What an event costs grows with these.
inline constexpr size_t kConstraints = 64;
inline constexpr size_t kShapes = 1024;
// Lines that one event tries.
inline constexpr int kLinesPerEvent = 64;
// Reserved slots are lent only for as long, unless the borrower ends before: a save takes seconds.
inline constexpr absl::Duration kLendLeast = absl::Minutes(5);
// A trial that had to give back borrowed slots so often borrows no more.
inline constexpr int kLentReturns = 3;
// An attempt is not preempted or resized so soon after it began to train, twice as long after each
// stop that was asked of its trial, so that no trial is worn down.
inline constexpr absl::Duration kProtectFirst = absl::Minutes(1);
inline constexpr absl::Duration kProtectMost = absl::Hours(1);
// An elastic gang grows over slots that were idle, and wanted by no line, for so long: what has
// just been freed may be asked for by who was told of it.
inline constexpr absl::Duration kGrowAfter = absl::Seconds(30);
// It changes its size at most so often, and only with as much left to train: it pays a save, a
// start and a warm-up each time.
inline constexpr absl::Duration kResizeEvery = absl::Minutes(10);
// The slots for its next size are kept for it so long while it saves and leaves.
inline constexpr absl::Duration kHoldForResize = absl::Seconds(30);
// Attempts in a row that a worker's crash ends before it is left alone, and for how long: doubled
// each time.
inline constexpr int kQuarantineEnds = 3;
inline constexpr absl::Duration kQuarantineFirst = absl::Minutes(30);
inline constexpr absl::Duration kQuarantineMost = absl::Hours(8);
// Errors of an experiment that one is compared with: some tenths of a millisecond.
inline constexpr size_t kErrorsCompared = 256;
// One in so many workers of a kind at most within this while, but one in any case: where more seem
// broken at once the cause is most likely common to all, and the fleet should go on.
inline constexpr size_t kQuarantineShare = 4;
inline constexpr absl::Duration kQuarantineWindow = absl::Hours(1);

// --- Programs as trials ---
// The words of a command and the text of one: what a person writes by hand.
inline constexpr size_t kCommandWords = 256;
inline constexpr size_t kCommandBytes = 64 << 10;
// With the values of parameters in them: one word, which is what Linux takes as an argument, and
// all words, texts and variables of a trial, which travel in its orders.
inline constexpr size_t kFilledTextBytes = 128 << 10;
inline constexpr size_t kFilledBytes = 1 << 20;
// A folder of code as it travels: source, no data and no weights.
inline constexpr size_t kCodeBytes = 32 << 20;
inline constexpr size_t kCodeFiles = 10'000;
inline constexpr size_t kCodePathBytes = 1024;
// Patterns of ignored files that travel all the same: written by hand.
inline constexpr int kCodePatterns = 64;
inline constexpr size_t kCodePartBytes = 1 << 20;
// All of them in a journal; those that no experiment names go first.
inline constexpr uint64_t kCodeQuotaBytes = 1ull << 30;
// What of a work tree's changes is kept.
inline constexpr size_t kCodeChangesBytes = 16 << 10;
// Lines that a program reports: one is written at once, so that lines of several writers do not
// mix.
inline constexpr size_t kProgramLineBytes = 64 << 10;
// Reports a second that are kept of a program; of more, the newest. Each is a record of the
// journal.
inline constexpr int kProgramReportsPerSecond = 10;
inline constexpr int kProgramReportsBurst = 100;
// What a person should know of a program's reports: a sentence with a line of its output in it,
// which stands in a table beside its trial.
inline constexpr size_t kHintBytes = 600;
// A program told to stop has kCheckpointStopGrace to save; one whose trial is over or cancelled
// this long to leave.
inline constexpr absl::Duration kProgramLeaveGrace = absl::Seconds(2);
// Checkpoint folders of programs: files that are listed with their hashes.
inline constexpr size_t kProgramCheckpointFiles = 10'000;

// A program that ends within this of its start, without a word to us, most likely ends so each
// time: importing a large library from a cold disk takes half of it.
inline constexpr absl::Duration kEarlyEnd = absl::Minutes(1);
// Trials that end in the same way at once, before any of their experiment got on, after which the
// others are not tried: one may have odd values, two may share them.
inline constexpr size_t kFailAlike = 3;

// --- Plans ---
// Draws that stand for the trials of a search whose values are proposed later.
inline constexpr int kPlanDraws = 64;
// Kinds of trials that a plan lists.
inline constexpr int kPlannedKinds = 1000;
// Trials whose pace a plan looks at, the newest: some milliseconds of the core.
inline constexpr uint32_t kTrialsCompared = 64;

// --- What is kept of one trial or worker ---
// Evaluations of one trial in memory: the newest and the best; the journal has all.
inline constexpr size_t kEvaluationsPerTrial = 1024;
// Measured times of collectives, over all devices, numbers of ranks, operations and sizes: a few
// hundred bytes each, and a fleet measured once in every shape has some hundreds.
inline constexpr size_t kNetworkFigures = 4096;
// What one measurement is made of: sizes, bytes of the largest, of which each rank holds three, and
// how often each is timed.
inline constexpr size_t kNetworkSizes = 16;
inline constexpr uint64_t kNetworkBytesMin = 256;
inline constexpr uint64_t kNetworkBytesMax = uint64_t{1} << 30;
inline constexpr int kNetworkRoundsMax = 100;
// Retention on the workers keeps few; a worker that registers without end pushes out its oldest.
inline constexpr size_t kCheckpointsPerTrial = 256;
// Attempts of one trial: progress renews the retry budget, this backstop does not.
inline constexpr size_t kAttemptsPerTrial = 1000;
// A slot holds one attempt, and while leaving it perhaps the one before; more is a broken worker.
inline constexpr int kAttemptsPerReport = 8;
// Streams of one life of a worker, which numbers them from 1: at its fastest, five a second, that
// is 27 years. A number beyond is no worker's, and would keep the worker itself out for ever.
inline constexpr uint64_t kSessionsMax = uint64_t{1} << 32;
// Workers the coordinator knows at once: twice what one coordinator is meant for.
inline constexpr size_t kWorkers = 20000;
// Worker names that a person drained or the coordinator quarantined: they need not be connected.
inline constexpr size_t kMarks = kWorkers;
// Open streams: of each worker one that serves and one that is being superseded.
inline constexpr size_t kStreams = 2 * kWorkers;
// Instances of one worker name whose acknowledgements are remembered beside the newest. One that is
// forgotten is refused because its numbers do not start where they must; nothing is counted twice.
inline constexpr size_t kInstancesPerWorker = 4;
// Earlier lives of a slot's worker that it knows to have ended: one that is started again and again
// before the coordinator answers has had a few.
inline constexpr size_t kEndedInstances = 16;
// Acknowledgements kept on disk over all names, newest first: of twice the instances that may be
// connected at once, so that a start never reads a fleet's whole history.
inline constexpr size_t kAcknowledgementsOnDisk = 2 * kWorkers;
// Checkpoints named in the answer to a delete, a message of some megabytes.
inline constexpr size_t kLeftBehindMax = 10000;

// --- Logs ---
inline constexpr size_t kLogLineBytes = 8 << 10;
inline constexpr int kLogLinesPerSecond = 200;  // a pipe of a rank
// The newest of more lines wait for the next second, whose allowance they are: a traceback and what
// a library prints behind it.
inline constexpr size_t kLogLinesHeld = kLogLinesPerSecond;
inline constexpr size_t kLogChunkBytes = 64 << 10;
// What a chunk takes besides its text: the numbers beside it and its entry in the index.
inline constexpr size_t kLogRowBytes = 64;
inline constexpr size_t kLogFirstBytes = 1 << 20;    // kept of each trial's start
inline constexpr size_t kLogNewestBytes = 16 << 20;  // and of its end
// Trials whose logs' sizes the store remembers at once; more are read from the table again.
inline constexpr size_t kLogTrials = 16384;

// --- Disk ---
inline constexpr uint64_t kFreeBytesToSubmit = 1ull << 30;

// --- The journal ---
// A journal up to this size is checked whole at every start, which takes a second or two; a larger
// one after a stop that was not clean, and by `dtcoord check`.
inline constexpr uint64_t kJournalCheckedBytes = 256 << 20;
// Damages that a check lists; a person restores a backup whatever their number.
inline constexpr size_t kDamagesTold = 20;
// Records between two snapshots of the durable state: a start replays at most about twice as many,
// some tenths of a second.
inline constexpr int64_t kSnapshotRecords = 20000;
// One value in the store's database.
inline constexpr int kStoredValueBytes = 64 << 20;
// Its log, in pages of 8 KiB. Folding it into the file begins at 8 MiB, on a thread of its own; at
// 32 MiB the writer folds the rest and the log starts again, which also bounds what a start after a
// crash has to read.
inline constexpr int kFoldBesidePages = 1024;
inline constexpr int kFoldInPlacePages = 4096;
// Rows of a deleted experiment, and records that a snapshot stands for, that one commit clears from
// each table: some milliseconds.
inline constexpr int64_t kClearedPerCommit = 256;
// Snapshots kept: the newest, and one to fall back to.
inline constexpr int kSnapshotsKept = 2;
// Bytes of one experiment in a snapshot: far below what one value of the store takes. With more, no
// snapshot is made and starts replay.
inline constexpr size_t kSnapshotPartBytes = 48 << 20;
// Effects that may wait for the commit under way, so that under load a commit takes two drains at
// once; with more the core thread waits too.
inline constexpr size_t kCommitEvents = 2 * kDrainEvents;

}  // namespace dt::limits
