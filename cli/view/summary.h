// summary.h: the coordinator's summaries as words and cells that several views share.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc, tests/cli/commands/
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/view/table.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

enum class Glyphs { kAscii, kUnicode };

bool Ended(v1::TrialState state);
bool Ended(v1::ExperimentState state);

// "running"; a failed trial says why: "failed: oom".
Cell StateCell(const v1::TrialSummary& trial);
Cell StateCell(v1::ExperimentState state);
// "paused" until it is resumed, whatever its trials do meanwhile.
Cell StateCell(const v1::ExperimentSummary& experiment);

// Those that its search will still propose among them.
uint32_t TrialsInAll(const v1::ExperimentSummary& experiment);
// "up to 3 trials, each proposed when it has slots"; "": none.
std::string ToComeText(const v1::ExperimentSummary& experiment);
// "3 failed", "3 failed: oom", "3 failed, 1 of them oom": running out of memory is a result.
std::string FailedText(const v1::ExperimentSummary& experiment);

// `ratio` of a bar `width` columns wide; 0 to 1, anything else is clamped.
std::string Bar(double ratio, int width, Glyphs glyphs);
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

// Columns that several tables of trials have, and how they give way on a narrow terminal.
// VAL LOSS is the newest evaluation's, BEST the best value of search.metric.
enum TrialColumn { kStep, kLoss, kValLoss, kBest, kRate, kCommShare, kLeft, kTime };
void AddColumns(Table& table, const std::vector<TrialColumn>& columns);
// A column for each parameter; the last give way first, and all of them after the others' numbers.
void AddParameters(Table& table, const std::vector<Swept>& swept);
// Leaves out those of these columns in which no trial has anything, of a program at once, else
// once some have begun: a program has no tokens, and a trainer may validate nothing.
void LeaveOutUntold(Table& table, const std::vector<v1::TrialSummary>& trials,
                    bool program = false);

// Whether search.metric is one that these columns do not show, so that a table has one more, under
// its name.
bool NeedsColumn(const std::string& metric);
// Returns that column. On a narrow terminal a long name is cut before any column is left out.
Column MetricColumn(const std::string& metric);

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
// The last of these for people at the end, each once: "12/3 and 7 more: it reported nothing; …".
std::vector<Line> HintLines(const std::vector<v1::TrialSummary>& trials);
// The same of what failed trials ended with.
std::vector<Line> FailureLines(const std::vector<v1::TrialSummary>& trials);
std::string RateText(const v1::TrialSummary& trial);  // "12.3k"; "-" when not known
// Part of an optimizer step in which ranks communicate, hidden or not; "-" for a rank alone, which
// has none.
std::string CommShareText(const v1::TrialSummary& trial);

enum class Goal { kMinimize, kMaximize };
Goal GoalOf(const std::string& word);
// A NaN is neither better nor worse than anything.
bool IsBetter(double a, double b, Goal goal);
// Where trials that ended early stand. Those that a rung ended were trained for less than the
// others, so that their values are no results to choose by; one whose patience ran out was trained
// as long as it was worth.
enum class Early { kAmongOthers, kLast };
// kLast where the experiment's search has rungs.
Early EarlyOf(const v1::ExperimentSpec& spec);
// How many finished early: what never ran, since the search had ended, is cancelled.
size_t CountStoppedEarly(const std::vector<v1::TrialSummary>& trials);
bool StoppedEarly(const v1::TrialSummary& trial);
// Trials that have a metric, best first; then the others, in order of number.
std::vector<const v1::TrialSummary*> Ranked(const std::vector<v1::TrialSummary>& trials, Goal goal,
                                            Early early);
// "12/7 has a better val_loss, 2.9000, and was stopped early at step 20/540": the best of those
// that are better than the first of `ranked` and stand behind it. "": there is none.
std::string BetterButEarlyText(const std::vector<const v1::TrialSummary*>& ranked, Goal goal,
                               const std::string& metric);

}  // namespace dt::cli
