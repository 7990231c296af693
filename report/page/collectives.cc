// collectives.cc: see collectives.h.
#include "report/page/collectives.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/analysis/differences.h"
#include "report/analysis/results.h"
#include "report/words/format.h"
#include "report/words/summary.h"
#include "spec/collectives.h"
#include "spec/sizes.h"

namespace dt::report {
namespace {

std::string BusBandwidth(const v1::Collective& one) {
  if (one.seconds() <= 0) return kNone;
  return absl::StrFormat("%.2f", one.bus_bytes() / one.seconds() / 1e9);
}

// Adds nothing for a trial without stages, or with an unknown rate.
void AppendPipeline(const Experiment& experiment, const Trial& trial, TextTable& table) {
  const double waited = spec::StageWaitSeconds(trial.sent);
  const double rate = ResultOf(trial).tokens_per_second;
  if (waited < 0 || !(rate > 0)) return;
  const v1::Spec spec = ResolvedSpec(experiment, trial);
  const auto sequences = static_cast<double>(spec.train().global_batch_size());
  const double step_seconds = sequences * spec.train().seq_len() / rate;
  table.rows.push_back({TrialName(trial.summary), AssignmentsText(trial.summary),
                        spec.parallel().schedule(), absl::StrCat(spec.parallel().pipeline()),
                        absl::StrCat(spec::MicroStepsOf(spec)),
                        absl::StrCat(spec::ChunksEach(spec)), PercentText(waited / step_seconds),
                        PercentText(spec::BubbleOf(spec))});
}

void AppendPipelines(const Experiment& experiment, Document& document) {
  TextTable table;
  table.caption =
      "The share of a step in which stages waited for one another, on average; and what filling "
      "and "
      "draining takes where all stages cost alike: (S−1)/(vM+S−1)";
  table.header = {"trial",         "parameters", "schedule", "stages",
                  "micro-batches", "pieces",     "waiting",  "by the formula"};
  table.text_columns = 3;
  for (const Trial& trial : experiment.trials) AppendPipeline(experiment, trial, table);
  if (table.rows.empty()) return;
  document.blocks.push_back(Heading{"Pipelines"});
  document.blocks.push_back(std::move(table));
}

}  // namespace

void AppendCollectives(const Experiment& experiment, Document& document) {
  TextTable table;
  table.caption =
      "Means per logged step. Bus bandwidth counts the bytes on the slowest link, so that "
      "operations and numbers of ranks compare";
  table.header = {"trial", "parameters", "operation", "axis",    "ranks",
                  "count", "MB",         "ms",        "waiting", "bus GB/s"};
  table.text_columns = 4;
  for (const Trial& trial : experiment.trials) {
    for (const v1::Collective& one : trial.sent.collectives()) {
      table.rows.push_back(
          {TrialName(trial.summary), AssignmentsText(trial.summary), one.op(), one.axis(),
           absl::StrCat(one.ranks()), absl::StrFormat("%.4g", one.count()),
           absl::StrFormat("%.2f", one.bytes() / 1e6), MillisecondsText(one.seconds()),
           MillisecondsText(one.exposed_seconds()), BusBandwidth(one)});
    }
  }
  if (table.rows.empty()) return;
  document.blocks.push_back(Heading{"Communication"});
  document.blocks.push_back(std::move(table));
  AppendPipelines(experiment, document);
}

}  // namespace dt::report
