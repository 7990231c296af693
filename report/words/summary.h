// summary.h: the coordinator's summaries as words and cells that several views share.
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

// How many finished early: what never ran, since the search had ended, is cancelled.
size_t CountStoppedEarly(const std::vector<v1::TrialSummary>& trials);
bool StoppedEarly(const v1::TrialSummary& trial);

// Those that its search will still propose among them.
uint32_t TrialsInAll(const v1::ExperimentSummary& experiment);
// "up to 3 trials, each proposed when it has slots"; "": none.
std::string ToComeText(const v1::ExperimentSummary& experiment);
// "3 failed", "3 failed: oom", "3 failed, 1 of them oom": running out of memory is a result.
std::string FailedText(const v1::ExperimentSummary& experiment);

double Progress(const v1::TrialSummary& trial);       // 0 to 1
std::string StepText(const v1::TrialSummary& trial);  // "120/200", "120/?", "120, 40 %"

std::string TrialName(const v1::TrialSummary& trial);  // "12/3"
// Swept parameters in order of the file: path → short header ("train.batch_size" → "batch_size",
// unless two would be the same).
struct Swept {
  std::string path;
  std::string name;    // in a text: "batch_size"
  std::string header;  // of a column; differs from ours, whose words are in capitals
};
std::vector<Swept> SweptParameters(const std::vector<v1::TrialSummary>& trials);
std::string AssignmentText(const v1::TrialSummary& trial, const std::string& path);  // "-" if none
std::string AssignmentsText(const v1::TrialSummary& trial);  // "batch_size=8 lr=0.001"
std::string LineName(const v1::TrialSummary& trial);         // "12/3  batch_size=8 lr=0.001"

// What a trial was trained by; "" when it has never been prepared.
std::string BuildText(const v1::Provenance& provenance);  // "0.1.0 (1a2b3c4)"
std::string TorchText(const v1::Provenance& provenance);  // "2.11.0, CUDA 13.0, NCCL 2.28.9"

// Whether search.metric is one that these columns do not show, so that a table has one more, under
// its name.
bool NeedsColumn(const std::string& metric);
// The best value of search.metric and its step: "2.0000 at 40"; "-" where none was reported. Where
// that is the training loss, of which a trial has but the newest, as BestLossText.
std::string BestText(const v1::TrialSummary& trial);
// The lowest validation loss and its step.
std::string BestLossText(const v1::TrialSummary& trial);
// The newest value of search.metric.
std::string MetricText(const v1::TrialSummary& trial);
// Means over the trial so far.
// What the trial waits for, else how it ended, with what a person should know of its reports.
std::string NoteText(const v1::TrialSummary& trial);
std::string RateText(const v1::TrialSummary& trial);  // "12.3k"; "-" when not known
// Part of an optimizer step in which ranks communicate, hidden or not; "-" for a rank alone, which
// has none.
std::string CommShareText(const v1::TrialSummary& trial);

}  // namespace dt::report
