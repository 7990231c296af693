// attempt_facts.cc: see attempt_facts.h.
#include "cli/commands/attempt_facts.h"

#include "absl/strings/str_cat.h"
#include "cli/view/words.h"

namespace dt::cli {
namespace {

constexpr int kKeyWidth = 16;

// Appends the innermost frames of each process, and the command that shows all of the log.
void AppendHang(std::vector<Line>& lines, const v1::AttemptSummary& attempt,
                const std::string& trial, const Hang& hang) {
  std::string key = "hung in";
  for (const report::HungRank& rank : hang.ranks) {
    for (const report::HungProcess& process : rank.processes) {
      AppendFact(lines, key, {absl::StrCat("rank ", rank.rank, ", ", HungText(process))});
      key = "";
    }
  }
  AppendFact(lines, "its log",
             {absl::StrCat("dtctl logs ", trial,
                           attempt.members_size() > 1 ? ", of one rank alone: --rank N" : "")});
}

}  // namespace

void AppendFact(std::vector<Line>& lines, const std::string& key, const Cell& cell) {
  if (cell.text.empty() || cell.text == kNone) return;
  lines.push_back({{PadRight("  " + key, kKeyWidth), Style::kDim}, {cell.text, cell.style}});
}

void AppendTitle(std::vector<Line>& lines, const std::string& title) {
  lines.emplace_back();
  lines.push_back({{title, Style::kBold}});
}

Hang FindHang(Client& client, const v1::ExplainTrialResponse& found) {
  Hang hang = {.attempt = report::HungAttempt(found), .ranks = {}};
  absl::StatusOr<std::vector<report::HungRank>> ranks = report::ReadHang(client, found);
  if (ranks.ok()) hang.ranks = *std::move(ranks);
  return hang;
}

void AppendAttempt(std::vector<Line>& lines, const v1::AttemptSummary& attempt,
                   const std::string& trial, const Hang& hang) {
  const bool ended = attempt.ended_wall_ms() != 0;
  const std::string word = ended                            ? Word(attempt.cause())
                           : attempt.running_wall_ms() != 0 ? "running"
                                                            : "starting";
  const bool good = attempt.cause() == v1::CAUSE_FINISHED;
  AppendTitle(lines, absl::StrCat(trial, "#", attempt.attempt()));
  AppendFact(lines, ended ? "ended as" : "now",
             {word, !ended ? Style::kBusy
                    : good ? Style::kGood
                           : Style::kBad});
  AppendFact(lines, "why", {Printable(attempt.message())});
  if (attempt.attempt() == hang.attempt) AppendHang(lines, attempt, trial, hang);
  AppendFact(lines, "reports", {Printable(attempt.hint())});
  if (ended && attempt.rank() >= 0 && !good) {
    AppendFact(lines, "decided by", {absl::StrCat("rank ", attempt.rank())});
  }
  const bool lost = attempt.attempt() > 1 && attempt.resumed_step() == 0;
  AppendFact(lines, "steps",
             {absl::StrCat("from ", attempt.resumed_step(), " to ", attempt.last_step(),
                           lost ? "; there was no checkpoint that it could go on from" : "")});
  AppendFact(lines, "placed", {Printable(attempt.reason())});
  // A member that continues with another one's weights saves nothing; the reason is above.
  if (attempt.message().find(attempt.stop_reason()) == std::string::npos) {
    AppendFact(lines, "asked to save", {Printable(attempt.stop_reason())});
  }
  if (attempt.uncharged()) AppendFact(lines, "retries", {"this end counts as none"});
  AppendFact(lines, "started", {FormatLocalTime(attempt.started_wall_ms())});
  AppendFact(lines, "training", {FormatLocalTime(attempt.running_wall_ms())});
  AppendFact(lines, "ended", {FormatLocalTime(attempt.ended_wall_ms())});
  for (const v1::AttemptMember& member : attempt.members()) {
    AppendFact(lines, absl::StrCat("rank ", member.rank()),
               {Printable(absl::StrCat(
                   member.worker(), " on ", member.host(),
                   member.device_name().empty() ? "" : absl::StrCat(", ", member.device_name())))});
  }
}

Json ExplainedFields(const v1::ExplainTrialResponse& found, const Hang& hang) {
  Json fields = ExplanationFields(found);
  fields["hang"] = report::HangJson(hang.attempt, hang.ranks);
  return fields;
}

}  // namespace dt::cli
