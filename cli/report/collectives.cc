// collectives.cc: see collectives.h.
#include "cli/report/collectives.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/results.h"
#include "cli/view/format.h"
#include "cli/view/summary.h"

namespace dt::cli::report {
namespace {

std::string BusBandwidth(const v1::Collective& one) {
  if (one.seconds() <= 0) return kNone;
  return absl::StrFormat("%.2f", one.bus_bytes() / one.seconds() / 1e9);
}

}  // namespace

void AppendCollectives(const Experiment& experiment, Document& document) {
  TextTable table;
  table.caption =
      "A logged step's; bus bandwidth counts what crosses the slowest link, so that operations and "
      "numbers of ranks compare";
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
}

}  // namespace dt::cli::report
