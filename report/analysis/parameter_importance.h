// parameter_importance.h: the importance of an experiment's parameters: runs the analysis of
// report/importance on its trials, and writes the findings as text and JSON.
//
// Role:   pure. Uses the trials that finished with a value of search.metric. Where rungs end
//         trials, values after different lengths of training do not compare. Then all values are
//         taken at the rung at which most trials have one (the later of two).
// Errors: FailedPrecondition where the trials allow no conclusion, with what is needed.
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
  std::vector<std::string> paths;  // of the factors
  importance::Importance found;
  size_t without = 0;                // trials without a value, or not finished
  std::vector<std::string> partial;  // parameters that some trials do not have: left out
  size_t early = 0;      // trials stopped early, counted with their best value; 0 at a rung
  std::string measured;  // "val_loss", "val_loss at rung 2 (1/9 of the steps)"
};
absl::StatusOr<ImportanceFindings> AnalyseImportance(const Experiment& experiment);

// Returns "optimizer.lr" or "optimizer.lr × train.batch_size".
std::string NameOf(const ImportanceFindings& findings, const importance::Effect& effect);
// Returns the pairs with a share large enough for a line.
std::vector<importance::Effect> ShownPairs(const ImportanceFindings& findings);
// Returns how reliable the numbers are: trials used, trials left out, quality of the predictions.
std::string ReachText(const ImportanceFindings& findings);
// Returns an item (parameters, share, deviation) for each parameter, then for each pair, the
// largest first.
std::vector<Json> ImportanceItems(const ImportanceFindings& findings);

}  // namespace dt::report
