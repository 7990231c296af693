#include "report/page/takeovers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "report/words/format.h"
#include "report/words/summary.h"
#include "spec/spec.h"

namespace dt::report {

void AppendTakeovers(const Experiment& experiment, Document& document) {
  TextTable table;
  table.caption =
      "Members that continued with the weights of another one, at a share of their steps: the "
      "values of the other one there, and the new values";
  table.header = {"trial", "from trial", "values", "share", "step"};
  table.text_columns = 3;
  for (const Trial& trial : experiment.trials) {
    for (const v1::Takeover& one : trial.takeovers) {
      table.rows.push_back({TrialName(trial.summary),
                            absl::StrCat(trial.summary.experiment(), "/", one.from_trial()),
                            spec::ChangesText({one.taken().begin(), one.taken().end()},
                                              {one.now().begin(), one.now().end()}),
                            absl::StrCat(one.share()), absl::StrCat(one.step())});
    }
  }
  if (table.rows.empty()) return;
  if (experiment.without_attempts > 0) {
    absl::StrAppend(&table.caption, ". Without those of the last ",
                    Plural(experiment.without_attempts, "trial"));
  }
  document.blocks.push_back(Heading{"Takeovers"});
  document.blocks.push_back(std::move(table));
}

}  // namespace dt::report
