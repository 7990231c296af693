// trial_table.h: cells and columns that several tables of trials share, and lines below the tables.
//
// Role:  pure. Tests: tests/cli/view/live_view_test.cc, tests/cli/commands/
#pragma once

#include <string>
#include <vector>

#include "cli/view/list_columns.h"
#include "cli/view/table.h"
#include "cli/view/words.h"
#include "dtrain/v1/control.pb.h"

namespace dt::cli {

namespace v1 = ::dtrain::v1;

// Return StateText (report/words/summary.h) in the colour of the state.
Cell StateCell(const v1::TrialSummary& trial);
Cell StateCell(v1::ExperimentState state);
Cell StateCell(const v1::ExperimentSummary& experiment);

// Columns that several tables of trials share, each with its rank for narrow terminals. VAL LOSS is
// that of the newest evaluation, BEST the best value of search.metric.
enum TrialColumn { kStep, kLoss, kValLoss, kBest, kRate, kCommShare, kLeft, kTime };
void AddColumns(ListColumns<v1::TrialSummary>& to, const std::vector<TrialColumn>& columns);
// Adds a column for each parameter. On a narrow terminal the last ones are left out first, and all
// of them only after the columns above except BEST.
void AddParameters(ListColumns<v1::TrialSummary>& to, const std::vector<Swept>& swept);
// Drops the columns above that are empty for all trials: at once for a program, which has no
// tokens; otherwise once some trials have begun, since a trainer may validate nothing.
void LeaveOutUntold(Table& table, const std::vector<v1::TrialSummary>& trials,
                    bool program = false);

// Return the column of search.metric, without and with its cells. On a narrow terminal a long name
// is cut before any column is left out.
Column MetricColumn(const std::string& metric);
ListColumn<v1::TrialSummary> MetricListColumn(const std::string& metric);

// Adds a column for each objective, and one that marks the Pareto front. Adds nothing without
// names.
void AddObjectives(ListColumns<v1::TrialSummary>& to, const std::vector<std::string>& metrics);
// Drops the columns that would show a number of AddObjectives again: BEST, which is then the newest
// value of the first objective, and the losses that are objectives themselves.
std::vector<TrialColumn> BesideObjectives(std::vector<TrialColumn> columns,
                                          const std::vector<std::string>& metrics);

std::string LossOf(const v1::TrialSummary& trial);  // the newest loss of training
double RunSeconds(const v1::TrialSummary& trial);   // in training; -1: unknown

// Return lines for the end of a list, each text once with its first trial: "12/3 and 7 more: it
// reported nothing; …". HintLines has hints on reports, FailureLines the reasons of failures.
std::vector<Line> HintLines(const std::vector<v1::TrialSummary>& trials);
std::vector<Line> FailureLines(const std::vector<v1::TrialSummary>& trials);

}  // namespace dt::cli
