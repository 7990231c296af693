#include "report/page/evaluations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "report/analysis/results.h"
#include "report/words/format.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

// Trials with samples shown: enough to compare. Each has up to four texts.
constexpr size_t kSampledTrials = 3;

std::string Share(double share) { return absl::StrCat(FixedText(share * 100), "%"); }

}  // namespace

void AppendAccuracies(const Experiment& experiment, Document& document) {
  TextTable table;
  table.caption =
      "HellaSwag at the last evaluation: examples whose right ending has the least loss of four, "
      "as a sum and as a mean over its tokens. Guessing gives 25%";
  table.header = {"trial", "parameters", "step", "accuracy", "normalised accuracy"};
  table.text_columns = 2;
  for (const Trial& trial : experiment.trials) {
    const v1::Evaluation& newest = trial.newest_evaluation;
    if (!newest.has_hellaswag_acc()) continue;
    table.rows.push_back({TrialName(trial.summary), AssignmentsText(trial.summary),
                          absl::StrCat(newest.step()), Share(newest.hellaswag_acc()),
                          Share(newest.hellaswag_acc_norm())});
  }
  if (table.rows.empty()) return;
  document.blocks.push_back(Heading{"HellaSwag"});
  document.blocks.push_back(std::move(table));
}

void AppendSamples(const Experiment& experiment, Document& document) {
  size_t shown = 0;
  for (const Trial* trial : BestFirst(experiment)) {
    const v1::Evaluation& newest = trial->newest_evaluation;
    if (newest.samples().empty()) continue;
    if (shown++ == kSampledTrials) return;
    if (shown == 1) document.blocks.push_back(Heading{"Samples"});
    int number = 0;
    for (const std::string& sample : newest.samples()) {
      document.blocks.push_back(
          Verbatim{absl::StrCat("Trial ", TrialName(trial->summary), " at step ", newest.step(),
                                ", sample ", ++number),
                   sample});
    }
  }
}

}  // namespace dt::report
