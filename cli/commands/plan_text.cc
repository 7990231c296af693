#include "cli/commands/plan_text.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/view/json.h"
#include "cli/view/words.h"

namespace dt::cli {
namespace {

std::string Gigabytes(uint64_t bytes) {
  return bytes == 0 ? kNone
                    : absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (1ull << 30));
}

std::vector<v1::TrialSummary> AsTrials(const v1::PlanResponse& plan) {
  std::vector<v1::TrialSummary> trials;
  for (const v1::PlannedTrials& kind : plan.configurations()) {
    *trials.emplace_back().mutable_assignments() = kind.assignments();
  }
  return trials;
}

}  // namespace

Listing PlanListing(const v1::PlanResponse& plan) {
  Listing listing;
  listing.kind = "PlannedTrialList";
  const std::vector<v1::TrialSummary> trials = AsTrials(plan);
  const std::vector<Swept> swept = SweptParameters(trials);
  std::vector<std::string> paths;
  listing.table.columns = {{"TRIAL", Align::kRight}, {"LIKE IT", Align::kRight}};
  for (const Swept& one : swept) {
    paths.push_back(one.path);
    listing.table.columns.push_back({one.header, Align::kRight});
  }
  for (const char* header : {"SLOTS", "MEMORY", "OF", "STEPS", "TIME"}) {
    listing.table.columns.push_back({header, Align::kRight});
  }
  listing.table.columns.push_back({"RUNS"});
  listing.columns = WithParameters({"first", "trials", "slots", "memory_bytes", "device_bytes",
                                    "target_steps", "seconds", "estimated_from", "fits", "lacks"},
                                   paths);
  for (int i = 0; i < plan.configurations_size(); ++i) {
    const v1::PlannedTrials& kind = plan.configurations(i);
    listing.items.push_back(ToJson(kind));
    listing.names.push_back(absl::StrCat(kind.first()));
    std::vector<Cell> row = {{absl::StrCat(kind.first())}, {FormatCount(kind.trials())}};
    for (const Swept& one : swept) {
      row.push_back({AssignmentText(trials[static_cast<size_t>(i)], one.path)});
    }
    row.push_back({absl::StrCat(kind.slots())});
    row.push_back({Gigabytes(kind.memory_bytes())});
    row.push_back({Gigabytes(kind.device_bytes())});
    row.push_back({kind.target_steps() == 0 ? kNone : FormatCount(kind.target_steps())});
    row.push_back({kind.seconds() < 0 ? kNone : FormatShort(kind.seconds())});
    row.push_back(kind.fits() ? Cell{"yes", Style::kGood}
                              : Cell{Printable(kind.lacks()), Style::kBad});
    listing.table.rows.push_back(std::move(row));
  }
  return listing;
}

std::string PlanSentence(const v1::PlanResponse& plan) {
  std::set<std::string> sources;
  for (const v1::PlannedTrials& kind : plan.configurations()) {
    if (!kind.estimated_from().empty()) sources.insert(Printable(kind.estimated_from()));
  }
  const std::string slots = Plural(plan.slots_connected(), "slot");
  if (plan.slot_seconds() < 0 || sources.empty()) {
    return absl::StrCat("how long it takes is not known: no such trial has trained on ",
                        slots == "0 slots" ? "a worker of its device" : "these workers", " yet");
  }
  const double seconds = plan.slot_seconds();
  std::string text = seconds < 360 ? absl::StrFormat("about %.0f slot-seconds", seconds)
                                   : absl::StrFormat("about %.1f slot-hours", seconds / 3600);
  if (plan.finish_seconds() >= 0) {
    absl::StrAppend(&text, ", done in ", FormatDuration(plan.finish_seconds()), " on ", slots);
  }
  absl::StrAppend(&text, " (estimated from ", *sources.begin());
  if (sources.size() > 1) absl::StrAppend(&text, ", or others");
  return text + ")";
}

std::string MisfitSentence(const v1::PlanResponse& plan) {
  uint64_t misfits = 0, all = 0;
  std::string lacks;
  for (const v1::PlannedTrials& kind : plan.configurations()) {
    all += kind.trials();
    if (kind.fits()) continue;
    misfits += kind.trials();
    if (lacks.empty()) lacks = Printable(kind.lacks());
  }
  if (misfits == 0) return "";
  return absl::StrCat(FormatCount(misfits), " of ", Plural(all, "trial"), " will not run: ", lacks);
}

}  // namespace dt::cli
