#include "cli/commands/get_columns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "cli/commands/labels.h"
#include "cli/view/trial_table.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

std::string AgeText(int64_t wall_ms) {
  if (wall_ms <= 0) return kNone;
  const double seconds = static_cast<double>(absl::ToUnixMillis(absl::Now()) - wall_ms) / 1000;
  return FormatShort(std::max(0.0, std::floor(seconds)));
}

std::string BestCellText(const v1::ExperimentSummary& one) {
  if (!one.metrics().empty()) return report::FrontSizeText(one);
  if (one.best_trial() == 0) return kNone;
  return absl::StrCat(FormatLoss(one.best_value()), " (", one.experiment(), "/", one.best_trial(),
                      ")");
}

Style StyleOfWorker(const v1::WorkerSummary& one) {
  return one.state() == "busy"   ? Style::kBusy
         : one.state() == "idle" ? Style::kGood
         : one.state() == "lost" ? Style::kBad
                                 : Style::kWarn;
}

Cell SeenByCell(const ListedCheckpoint& one) {
  const std::string seen =
      one.gone ? "nobody: it is gone" : absl::StrJoin(one.summary.seen_by(), ",");
  return {seen.empty() ? "nobody connected" : Printable(seen),
          seen.empty() || one.gone ? Style::kWarn : Style::kPlain};
}

}  // namespace

ListColumns<v1::ExperimentSummary> ExperimentColumns() {
  using Summary = v1::ExperimentSummary;
  return {{{"EXPERIMENT", Align::kRight, Shown::kAlways, "EXP"},
           [](const Summary& one) { return Cell{absl::StrCat(one.experiment())}; }},
          {{"NAME", Align::kLeft, Shown::kAlways, "", 12},
           [](const Summary& one) { return Cell{Printable(one.name())}; }},
          {{"STATE"}, [](const Summary& one) { return StateCell(one); }},
          {{"TRIALS", Align::kRight, Shown::kAlways, "", 0, 4},
           [](const Summary& one) { return Cell{FormatCount(TrialsInAll(one))}; }},
          {{"RUNNING", Align::kRight, Shown::kAlways, "RUN", 0, 2},
           [](const Summary& one) { return Cell{FormatCount(one.running())}; }},
          {{"PENDING", Align::kRight, Shown::kWide},
           [](const Summary& one) { return Cell{FormatCount(one.pending())}; }},
          {{"FINISHED", Align::kRight, Shown::kAlways, "FIN", 0, 1},
           [](const Summary& one) { return Cell{FormatCount(one.finished())}; }},
          {{"FAILED", Align::kRight, Shown::kAlways, "FAIL"},
           [](const Summary& one) {
             return Cell{FormatCount(one.failed()), one.failed() > 0 ? Style::kBad : Style::kPlain};
           }},
          {{"CANCELLED", Align::kRight, Shown::kWide},
           [](const Summary& one) { return Cell{FormatCount(one.cancelled())}; }},
          {{"DONE", Align::kRight},
           [](const Summary& one) { return Cell{FormatRatio(one.progress_ratio())}; }},
          {{"LEFT", Align::kRight, Shown::kAlways, "", 0, 5},
           [](const Summary& one) {
             return Cell{Ended(one.state()) ? kNone : FormatShort(one.eta_seconds())};
           }},
          {{"BEST", Align::kRight}, [](const Summary& one) { return Cell{BestCellText(one)}; }},
          {{"AGE", Align::kRight, Shown::kAlways, "", 0, 3},
           [](const Summary& one) { return Cell{AgeText(one.submitted_wall_ms())}; }},
          {{"PRIORITY", Align::kRight, Shown::kWide},
           [](const Summary& one) { return Cell{absl::StrCat(one.priority())}; }},
          {{"SLOTS", Align::kRight, Shown::kWide},
           [](const Summary& one) { return Cell{FormatCount(one.slots_held())}; }},
          {{"BY", Align::kLeft, Shown::kWide},
           [](const Summary& one) {
             return Cell{one.submitted_by().empty() ? kNone : Printable(one.submitted_by())};
           }},
          {{"LABELS", Align::kLeft, Shown::kWide},
           [](const Summary& one) { return Cell{LabelsText(one.labels())}; }},
          {{"NOTE", Align::kLeft, Shown::kWide, "", 12},
           [](const Summary& one) { return Cell{Printable(one.note())}; }}};
}

ListColumns<v1::TrialSummary> TrialColumns(const std::vector<v1::TrialSummary>& trials,
                                           const std::string& metric,
                                           const std::vector<std::string>& objectives) {
  using Trial = v1::TrialSummary;
  ListColumns<Trial> columns = {{{"TRIAL"}, [](const Trial& one) { return Cell{TrialName(one)}; }}};
  AddParameters(columns, SweptParameters(trials));
  if (!metric.empty()) columns.push_back(MetricListColumn(metric));
  AddObjectives(columns, objectives);
  columns.push_back({{"STATE"}, [](const Trial& one) { return StateCell(one); }});
  AddColumns(columns,
             BesideObjectives({kStep, kLoss, kValLoss, kBest, kRate, kCommShare}, objectives));
  columns.back().column = {"COMM SHARE", Align::kRight, Shown::kWide};
  AddColumns(columns, {kLeft});
  columns.push_back({{"ATTEMPTS", Align::kRight, Shown::kWide},
                     [](const Trial& one) { return Cell{absl::StrCat(one.attempts())}; }});
  columns.push_back({{"WORKERS", Align::kLeft, Shown::kWide},
                     [](const Trial& one) { return Cell{absl::StrJoin(one.workers(), ",")}; }});
  columns.push_back({{"NOTE", Align::kLeft, Shown::kAlways, "", 12, 6},
                     [](const Trial& one) { return Cell{NoteText(one)}; }});
  return columns;
}

ListColumns<v1::WorkerSummary> WorkerColumns() {
  using Worker = v1::WorkerSummary;
  return {{{"WORKER", Align::kLeft, Shown::kAlways, "", 10},
           [](const Worker& one) { return Cell{Printable(one.worker())}; }},
          {{"STATE"},
           [](const Worker& one) {
             return Cell{Printable(one.state()), StyleOfWorker(one)};
           }},
          {{"DEVICE"}, [](const Worker& one) { return Cell{Printable(one.device())}; }},
          {{"DEVICE NAME", Align::kLeft, Shown::kWide, "", 10},
           [](const Worker& one) { return Cell{Printable(one.device_name())}; }},
          {{"TASK", Align::kLeft, Shown::kAlways, "", 10},
           [](const Worker& one) {
             return Cell{one.doing().empty() ? kNone : Printable(one.doing())};
           }},
          {{"LAST SEEN", Align::kRight, Shown::kAlways, "SEEN", 0, 2},
           [](const Worker& one) { return Cell{FormatShort(one.silence_seconds())}; }},
          {{"HOST", Align::kLeft, Shown::kAlways, "", 8, 1},
           [](const Worker& one) { return Cell{Printable(one.host())}; }},
          {{"VERSION", Align::kLeft, Shown::kWide},
           [](const Worker& one) { return Cell{Printable(one.program_version())}; }},
          {{"STORAGE", Align::kLeft, Shown::kWide},
           [](const Worker& one) { return Cell{Printable(one.storage_id())}; }},
          {{"PEER", Align::kLeft, Shown::kWide},
           [](const Worker& one) { return Cell{Printable(one.peer())}; }},
          {{"LABELS", Align::kLeft, Shown::kWide},
           [](const Worker& one) { return Cell{LabelsText(one.labels())}; }}};
}

ListColumns<ListedCheckpoint> CheckpointColumns() {
  const auto of_ref = [](Column column, auto cell) {
    return ListColumn<ListedCheckpoint>{std::move(column), [cell](const ListedCheckpoint& one) {
                                          return cell(one.summary.checkpoint());
                                        }};
  };
  using Ref = v1::CheckpointRef;
  return {
      {{"ATTEMPT"},
       [](const ListedCheckpoint& one) {
         return Cell{absl::StrCat(one.summary.experiment(), "/", one.summary.trial(), "#",
                                  one.summary.attempt())};
       }},
      of_ref({"STEP", Align::kRight},
             [](const Ref& ref) { return Cell{absl::StrCat(ref.step())}; }),
      of_ref({"VAL LOSS", Align::kRight},
             [](const Ref& ref) { return Cell{FormatLoss(ref.loss())}; }),
      of_ref({"SIZE", Align::kRight},
             [](const Ref& ref) { return Cell{FormatBytes(static_cast<double>(ref.bytes()))}; }),
      of_ref({"BEST"},
             [](const Ref& ref) {
               return Cell{ref.best() ? "best" : "", Style::kGood};
             }),
      of_ref({"PATH UNDER --storage", Align::kLeft, Shown::kAlways, "PATH", 0},
             [](const Ref& ref) { return Cell{Printable(ref.path())}; }),
      of_ref({"STORAGE", Align::kLeft, Shown::kWide},
             [](const Ref& ref) { return Cell{Printable(ref.storage_id())}; }),
      {{"SEEN BY", Align::kLeft, Shown::kAlways, "", 8}, SeenByCell}};
}

Json ListedJson(const ListedCheckpoint& one) {
  Json json = CheckpointJson(one.summary);
  json["gone"] = one.gone;
  return json;
}

}  // namespace dt::cli
