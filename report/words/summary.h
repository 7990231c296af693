// summary.h: the coordinator's summaries as words, for lists, live views and reports.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc, tests/cli/commands/
#pragma once

#include <map>
#include <string>
#include <vector>

#include "dtrain/v1/control.pb.h"

namespace dt::report {

namespace v1 = ::dtrain::v1;

bool Ended(v1::TrialState state);
bool Ended(v1::ExperimentState state);

// Returns "running", "stopped early"; a failed trial says why: "failed: oom".
std::string StateText(const v1::TrialSummary& trial);
std::string StateText(v1::ExperimentState state);
// Returns "paused" until the experiment is resumed, whatever its trials do meanwhile.
std::string StateText(const v1::ExperimentSummary& experiment);

// Counts the trials that were stopped early. Trials that never ran because the search had ended are
// cancelled instead.
size_t CountStoppedEarly(const std::vector<v1::TrialSummary>& trials);
bool StoppedEarly(const v1::TrialSummary& trial);

// Returns the number of trials, including those that the search will still propose.
uint32_t TrialsInAll(const v1::ExperimentSummary& experiment);
// Returns "up to 3 trials, each proposed when it has slots", or "" if no more will come.
std::string ToComeText(const v1::ExperimentSummary& experiment);
// Returns "3 failed", "3 failed: oom" or "3 failed, 1 of them oom". Running out of memory is a
// result, so it is counted separately.
std::string FailedText(const v1::ExperimentSummary& experiment);

double Progress(const v1::TrialSummary& trial);       // 0 to 1
std::string StepText(const v1::TrialSummary& trial);  // "120/200", "120/?", "120, 40 %"

std::string TrialName(const v1::TrialSummary& trial);  // "12/3"
// A swept parameter with its short name: "batch_size" for "train.batch_size", unless two parameters
// would get the same one.
struct Swept {
  std::string path;
  std::string name;    // in a text: "batch_size"
  std::string header;  // of a column; never equal to one of our own headers, in any case
};
// Returns the swept parameters in the order of the file.
std::vector<Swept> SweptParameters(const std::vector<v1::TrialSummary>& trials);
std::string AssignmentText(const v1::TrialSummary& trial, const std::string& path);  // "-" if none
std::string AssignmentsText(const v1::TrialSummary& trial);  // "batch_size=8 lr=0.001"
std::string LineName(const v1::TrialSummary& trial);         // "12/3  batch_size=8 lr=0.001"

// Return the software that trained a trial; "" before it was prepared.
std::string BuildText(const v1::Provenance& provenance);  // "0.1.0 (1a2b3c4)"
std::string TorchText(const v1::Provenance& provenance);  // "2.11.0, CUDA 13.0, NCCL 2.28.9"

// Returns whether search.metric needs a column of its own: none of the usual columns shows it.
bool NeedsColumn(const std::string& metric);
// Returns the best value of search.metric and its step: "2.0000 at 40"; "-" where none was
// reported. For the training loss, of which only the newest value is kept, returns BestLossText.
std::string BestText(const v1::TrialSummary& trial);
// Returns the lowest validation loss and its step.
std::string BestLossText(const v1::TrialSummary& trial);
// Returns the newest value of search.metric.
std::string MetricText(const v1::TrialSummary& trial);
// Returns the reason that the trial waits, else how it ended, with a hint about its reports.
std::string NoteText(const v1::TrialSummary& trial);
// Returns the mean tokens per second so far: "12.3k"; "-" where unknown.
std::string RateText(const v1::TrialSummary& trial);
// Returns the mean share of an optimizer step in which ranks communicate, overlapped or not; "-"
// for a single rank.
std::string CommShareText(const v1::TrialSummary& trial);

}  // namespace dt::report
