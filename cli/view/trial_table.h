// trial_table.h: cells and columns that several tables of trials have, and lines below them.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc, tests/cli/commands/
#pragma once

#include <string>
#include <vector>

#include "cli/view/table.h"
#include "cli/view/words.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Return StateText (report/words/summary.h) in the colour of the state.
Cell StateCell(const v1::TrialSummary& trial);
Cell StateCell(v1::ExperimentState state);
Cell StateCell(const v1::ExperimentSummary& experiment);

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

// Returns that column. On a narrow terminal a long name is cut before any column is left out.
Column MetricColumn(const std::string& metric);

// The last of these for people at the end, each once: "12/3 and 7 more: it reported nothing; …".
std::vector<Line> HintLines(const std::vector<v1::TrialSummary>& trials);
// The same of what failed trials ended with.
std::vector<Line> FailureLines(const std::vector<v1::TrialSummary>& trials);

}  // namespace dt::cli
