#include "cli/commands/strategy_text.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/view/words.h"

namespace dt::cli {
namespace {

// Upper bound on the tables: more would scroll the answer away. -o json has all.
constexpr size_t kTablesShown = 4;
constexpr size_t kTrialsNamed = 8;

struct StrategyTable {
  const v1::PlannedTrials* first = nullptr;
  std::vector<uint32_t> trials;  // a trial of each kind
};

bool SameTable(const v1::PlannedTrials& a, const v1::PlannedTrials& b) {
  if (a.slots() != b.slots() || a.parameters() != b.parameters() || a.advice() != b.advice() ||
      a.strategies_size() != b.strategies_size()) {
    return false;
  }
  for (int i = 0; i < a.strategies_size(); ++i) {
    const v1::PlannedStrategy& one = a.strategies(i);
    const v1::PlannedStrategy& other = b.strategies(i);
    if (one.SerializeAsString() != other.SerializeAsString()) return false;
  }
  return true;
}

std::vector<StrategyTable> GroupsOf(const v1::PlanResponse& plan) {
  std::vector<StrategyTable> groups;
  for (const v1::PlannedTrials& kind : plan.configurations()) {
    if (kind.strategies().empty()) continue;
    StrategyTable* found = nullptr;
    for (StrategyTable& group : groups) {
      if (SameTable(*group.first, kind)) found = &group;
    }
    if (found == nullptr) found = &groups.emplace_back(StrategyTable{&kind, {}});
    found->trials.push_back(kind.first());
  }
  return groups;
}

std::string Bytes(uint64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

// Returns the time as an upper bound: assumes that no communication overlaps with computation.
std::string Exposed(double seconds) {
  if (seconds < 0) return kNone;
  return seconds < 1 ? absl::StrFormat("<%.3gms", seconds * 1000)
                     : absl::StrCat("<", FormatShort(seconds));
}

// Returns "zero1", "hsdp of 4", "tensor 2" or "zero1, tensor 2, pipeline 4".
std::string NameOf(const v1::PlannedStrategy& row) {
  const bool cut = row.tensor() > 1 || row.pipeline() > 1;
  std::vector<std::string> parts;
  if (!cut || row.strategy() != "ddp") parts.push_back(Printable(row.strategy()));
  if (row.shard() > 0) absl::StrAppend(&parts.back(), " of ", row.shard());
  if (row.tensor() > 1) parts.push_back(absl::StrCat("tensor ", row.tensor()));
  if (row.pipeline() > 1) parts.push_back(absl::StrCat("pipeline ", row.pipeline()));
  return absl::StrJoin(parts, ", ");
}

// Returns the share of a step that stages wait while their pipeline fills and drains, by the
// formula.
std::string Bubble(const v1::PlannedStrategy& strategy) {
  return strategy.pipeline() > 1 ? FormatRatio(strategy.bubble_ratio()) : kNone;
}

Cell Verdict(const v1::PlannedStrategy& strategy) {
  if (strategy.verdict() == "too_large") return {"too large", Style::kBad};
  if (strategy.verdict() == "tight") return {"tight", Style::kWarn};
  if (strategy.verdict() != "fits") return {kNone};
  return strategy.least() ? Cell{"fits <- least", Style::kGood} : Cell{"fits"};
}

Table TableOf(const v1::PlannedTrials& kind) {
  const bool pipelines = std::any_of(kind.strategies().begin(), kind.strategies().end(),
                                     [](const auto& one) { return one.pipeline() > 1; });
  Table table;
  const auto amount = [](const char* header, int leave_out) {
    return Column{header, Align::kRight, Shown::kAlways, kCutHeader, 0, leave_out};
  };
  table.columns = {{"STRATEGY"},      amount("STATE", 2),     amount("ACTIVATIONS", 1),
                   amount("PEAK", 0), amount("WIRE/STEP", 3), amount("EXPOSED", 4)};
  if (pipelines) table.columns.push_back({"BUBBLE", Align::kRight});
  table.columns.push_back({"VERDICT"});
  for (const v1::PlannedStrategy& one : kind.strategies()) {
    std::vector<Cell> row = {{NameOf(one)},
                             {Bytes(one.state_bytes())},
                             {Bytes(one.activation_bytes())},
                             {Bytes(one.peak_bytes())},
                             {one.wire_bytes() > 0 ? Bytes(one.wire_bytes()) : kNone},
                             {Exposed(one.wire_seconds())}};
    if (pipelines) row.push_back({Bubble(one)});
    row.push_back(Verdict(one));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string TitleOf(const StrategyTable& group) {
  const v1::PlannedTrials& kind = *group.first;
  const size_t named = std::min(group.trials.size(), kTrialsNamed);
  std::string title = absl::StrCat(
      "Trials like ", absl::StrJoin(group.trials.begin(), group.trials.begin() + named, ", "),
      named < group.trials.size() ? ", …" : "", ": ",
      FormatRate(static_cast<double>(kind.parameters())), " parameters, ",
      Plural(static_cast<uint64_t>(kind.slots()), "rank"));
  if (kind.device_bytes() > 0) {
    absl::StrAppend(&title, ", ", Bytes(kind.device_bytes()), " a slot");
  }
  return title;
}

}  // namespace

std::vector<Line> StrategyLines(const v1::PlanResponse& plan, int width) {
  std::vector<Line> lines;
  const std::vector<StrategyTable> groups = GroupsOf(plan);
  for (size_t i = 0; i < groups.size() && i < kTablesShown; ++i) {
    lines.push_back({});
    lines.push_back({{TitleOf(groups[i]), Style::kBold}});
    for (Line& line : LayOut(TableOf(*groups[i].first), {width})) lines.push_back(std::move(line));
    const std::string from = Printable(groups[i].first->wire_from());
    if (!from.empty()) lines.push_back({{absl::StrCat("EXPOSED is by ", from, ".")}});
    const std::string advice = Printable(groups[i].first->advice());
    if (!advice.empty()) lines.push_back({{absl::StrCat("Advice: ", advice, ".")}});
  }
  if (groups.size() > kTablesShown) {
    lines.push_back({});
    lines.push_back({{absl::StrCat("and ", Plural(groups.size() - kTablesShown, "table"),
                                   " more of other sizes; -o json has all")}});
  }
  return lines;
}

}  // namespace dt::cli
