// parameter_importance.h: which parameters of an experiment mattered: what its trials have that the
// analysis of report/importance takes, and what it found as a table.
//
// Role:   pure. Trials count that finished with a value of search.metric. Where rungs end trials,
//         values of different lengths of training do not compare: then all are taken at one rung,
//         that which most trials have a value of (the later of two).
// Errors: FailedPrecondition where they bear no conclusion, with what is needed.
// Tests:  tests/report/page/insight_test.cc
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "api/json.h"
#include "report/analysis/collect.h"
#include "report/importance/fanova.h"
#include "report/words/summary.h"

namespace dt::report {

using api::Json;

struct ImportanceFindings {
  std::vector<std::string> paths;  // that effects count by
  importance::Importance found;
  size_t without = 0;    // trials that have no such value, or do not count yet
  size_t early = 0;      // that a rule ended early, their best value counting; 0 at a rung
  std::string measured;  // "val_loss", "val_loss at rung 2 (1/9 of the steps)"
};
absl::StatusOr<ImportanceFindings> AnalyseImportance(const Experiment& experiment);

// "optimizer.lr", "optimizer.lr × train.batch_size"
std::string NameOf(const ImportanceFindings& findings, const importance::Effect& effect);
// The pairs that are worth a line.
std::vector<importance::Effect> ShownPairs(const ImportanceFindings& findings);
// How far the numbers bear: how many trials, what was left out, how well trials are foretold.
std::string ReachText(const ImportanceFindings& findings);
// parameters (list), share, deviation; one for each parameter and pair, the largest first.
std::vector<Json> ImportanceItems(const ImportanceFindings& findings);

}  // namespace dt::report
