#include "report/page/speed.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "report/analysis/configurations.h"
#include "report/analysis/results.h"
#include "report/page/study.h"
#include "report/words/format.h"
#include "report/words/ranking.h"
#include "report/words/summary.h"

namespace dt::report {
namespace {

constexpr char kRanks[] = "resources.gpus";

// Trials that differ only in their seed.
struct SeedGroup {
  std::string number;  // "12/4", "12/4…6"
  std::string name;    // with parameters
  std::vector<const Trial*> trials;

  double Mean(const std::function<double(const Trial&)>& value) const {
    std::vector<double> values;
    for (const Trial* trial : trials) values.push_back(value(*trial));
    return SpreadOf(values).mean;
  }
};

std::vector<SeedGroup> SeedGroupsOf(const Experiment& experiment, bool best_first) {
  std::map<uint32_t, const Trial*> by_number;
  std::vector<v1::TrialSummary> summaries;
  for (const Trial& trial : experiment.trials) {
    by_number[trial.summary.trial()] = &trial;
    summaries.push_back(trial.summary);
  }
  std::vector<Configuration> configurations = ConfigurationsOf(summaries);
  if (best_first) BestFirst(configurations, GoalOf(experiment.found.summary().goal()));
  std::vector<SeedGroup> all;
  for (const Configuration& one : configurations) {
    SeedGroup& group = all.emplace_back();
    group.number = ConfigurationName(one);
    group.name = ConfigurationLineName(one);
    for (const v1::TrialSummary* summary : one.trials) {
      group.trials.push_back(by_number.at(summary->trial()));
    }
  }
  return all;
}

// Returns the configurations with the value, as many as can be drawn, and the number of all that
// have it.
std::pair<std::vector<SeedGroup>, size_t> DrawnWith(const Experiment& experiment,
                                                    const std::function<bool(const Trial&)>& has) {
  std::vector<SeedGroup> drawn;
  size_t all = 0;
  for (SeedGroup& one : SeedGroupsOf(experiment, true)) {
    std::erase_if(one.trials, [&](const Trial* trial) { return !has(*trial); });
    if (one.trials.empty()) continue;
    ++all;
    if (drawn.size() < kLinesMax) drawn.push_back(std::move(one));
  }
  return {std::move(drawn), all};
}

// ---- scaling ----

enum class Scaling { kWeak, kStrong, kOther };
std::string Word(Scaling kind) {
  switch (kind) {
    case Scaling::kWeak:
      return "weak";
    case Scaling::kStrong:
      return "strong";
    case Scaling::kOther:
      return "neither";
  }
  return "";
}

double RanksOf(const SeedGroup& one) { return NumberAt(one.trials.front()->summary, kRanks); }
double RateOf(const SeedGroup& one) {
  return one.Mean([](const Trial& trial) { return ResultOf(trial).tokens_per_second; });
}
double TokensOfStep(const SeedGroup& one) {
  return static_cast<double>(one.trials.front()->summary.tokens_per_step());
}

// Configurations that differ only in their ranks and in fields that depend on the ranks.
struct Scaled {
  std::string others;
  std::vector<SeedGroup> by_ranks;  // rising
  Scaling kind = Scaling::kOther;

  // Returns tokens/s a rank, relative to the fewest ranks that ran.
  double Efficiency(const SeedGroup& one) const {
    for (const SeedGroup& base : by_ranks) {
      const double rate = RateOf(base) / RanksOf(base);
      if (std::isfinite(rate)) return RateOf(one) / RanksOf(one) / rate;
    }
    return kUnknown;
  }
};

Scaling KindOf(const std::vector<SeedGroup>& by_ranks) {
  const SeedGroup& base = by_ranks.front();
  bool grows = by_ranks.size() > 1;
  bool stays = by_ranks.size() > 1;
  for (const SeedGroup& one : by_ranks) {
    const double tokens = TokensOfStep(one);
    stays = stays && tokens > 0 && tokens == TokensOfStep(base);
    grows = grows && tokens > 0 && tokens / RanksOf(one) == TokensOfStep(base) / RanksOf(base);
  }
  if (stays) return Scaling::kStrong;
  return grows ? Scaling::kWeak : Scaling::kOther;
}

// Returns whether each number of ranks has a single value of the field, such as a batch that is
// divided among the ranks.
bool GoesWithRanks(const std::vector<Trial>& trials, const std::string& path) {
  std::map<std::string, std::string> known;
  return std::all_of(trials.begin(), trials.end(), [&](const Trial& trial) {
    const std::string value = ValueAt(trial.summary, path);
    return known.emplace(ValueAt(trial.summary, kRanks), value).first->second == value;
  });
}

std::vector<Scaled> ScaledIn(const Experiment& experiment) {
  std::vector<SweptParameter> swept = SweptIn(experiment.trials);
  const bool scaled = std::any_of(swept.begin(), swept.end(),
                                  [](const SweptParameter& one) { return one.path == kRanks; });
  if (!scaled) return {};
  std::erase_if(swept, [&](const SweptParameter& one) {
    return one.path == "seed" || (one.path != kRanks && GoesWithRanks(experiment.trials, one.path));
  });
  std::vector<Scaled> groups;
  std::map<std::string, size_t> places;
  for (SeedGroup& one : SeedGroupsOf(experiment, false)) {
    const std::string others = OthersText(one.trials.front()->summary, swept, kRanks);
    const auto [place, is_new] = places.emplace(others, groups.size());
    if (is_new) groups.push_back({others, {}, Scaling::kOther});
    groups[place->second].by_ranks.push_back(std::move(one));
  }
  for (Scaled& group : groups) {
    std::stable_sort(
        group.by_ranks.begin(), group.by_ranks.end(),
        [](const SeedGroup& a, const SeedGroup& b) { return RanksOf(a) < RanksOf(b); });
    group.kind = KindOf(group.by_ranks);
  }
  return groups;
}

std::string LineNameOf(const Scaled& group, const std::string& what) {
  return absl::StrCat(what, what.empty() || group.others.empty() ? "" : ", ", group.others);
}

LineChart ChartOverRanks(const std::vector<Scaled>& groups) {
  LineChart chart;
  chart.x_label = "ranks";
  chart.markers = PointMarkers::kEach;
  for (const Scaled& group : groups) {
    for (const SeedGroup& one : group.by_ranks) {
      if (std::isfinite(RanksOf(one))) chart.x_ticks.push_back(RanksOf(one));
    }
  }
  std::sort(chart.x_ticks.begin(), chart.x_ticks.end());
  chart.x_ticks.erase(std::unique(chart.x_ticks.begin(), chart.x_ticks.end()), chart.x_ticks.end());
  chart.x_scale = Scale::kLog;
  return chart;
}

// Adds a line for a group with two points or more.
void AddLine(const Scaled& group, const std::string& name,
             const std::function<double(const SeedGroup&)>& value, LineChart& chart) {
  ChartLine line{name, LookOf(chart.lines.size())};
  for (const SeedGroup& one : group.by_ranks) {
    const double y = value(one);
    if (std::isfinite(y)) line.points.push_back({RanksOf(one), y});
  }
  if (line.points.size() > 1 && chart.lines.size() < kLinesMax) {
    chart.lines.push_back(std::move(line));
  }
}

Figure EfficiencyFigure(const std::vector<Scaled>& groups) {
  LineChart chart = ChartOverRanks(groups);
  chart.title = "Scaling efficiency";
  chart.y_label = "% of the tokens/s a rank of the fewest";
  for (const Scaled& group : groups) {
    AddLine(
        group, LineNameOf(group, absl::StrCat(Word(group.kind), " scaling")),
        [&](const SeedGroup& one) { return 100 * group.Efficiency(one); }, chart);
  }
  return {
      std::move(chart),
      "100 is as fast as the ranks allow. Weak scaling: the tokens of a step grow with the "
      "ranks, and each rank does the same. Strong scaling: they stay, and each rank does less."};
}

Figure ShareFigure(const std::vector<Scaled>& groups) {
  LineChart chart = ChartOverRanks(groups);
  chart.title = "Communication over ranks";
  chart.y_label = "% of a step";
  // A single rank sends nothing.
  const auto share = [](const SeedGroup& one, double Result::*ratio) {
    if (RanksOf(one) == 1) return 0.0;
    return 100 * one.Mean([&](const Trial& trial) { return ResultOf(trial).*ratio; });
  };
  for (const Scaled& group : groups) {
    AddLine(
        group, LineNameOf(group, "all"),
        [&](const SeedGroup& one) { return share(one, &Result::comm_ratio); }, chart);
    AddLine(
        group, LineNameOf(group, "exposed"),
        [&](const SeedGroup& one) { return share(one, &Result::comm_exposed_ratio); }, chart);
  }
  return {std::move(chart),
          "Communication of gradients and parameters as a share of a step's time, and the part of "
          "it that no computation hides."};
}

TextTable ScalingTable(const std::vector<Scaled>& groups) {
  TextTable table;
  table.caption = "Tokens a second and rank, against the same trial with the fewest ranks that ran";
  table.header = {"trial",           "other parameters", "scaling",
                  "ranks",           "tokens a step",    "tokens/s",
                  "tokens/s a rank", "efficiency",       "communication share",
                  "exposed share",   "memory of a rank"};
  table.text_columns = 3;
  for (const Scaled& group : groups) {
    for (const SeedGroup& one : group.by_ranks) {
      const auto mean = [&](double Result::*ratio) {
        return one.Mean([&](const Trial& trial) { return ResultOf(trial).*ratio; });
      };
      const double memory = one.Mean([](const Trial& trial) {
        return trial.memory_peak_bytes > 0 ? trial.memory_peak_bytes : kUnknown;
      });
      table.rows.push_back(
          {one.number, group.others.empty() ? kNone : group.others,
           group.by_ranks.size() > 1 ? Word(group.kind) : kNone,
           ValueAt(one.trials.front()->summary, kRanks),
           TokensOfStep(one) > 0 ? FormatCount(static_cast<uint64_t>(TokensOfStep(one))) : kNone,
           FormatRate(RateOf(one)), FormatRate(RateOf(one) / RanksOf(one)),
           PercentText(group.Efficiency(one)), PercentText(mean(&Result::comm_ratio)),
           PercentText(mean(&Result::comm_exposed_ratio)),
           std::isfinite(memory) ? FormatBytes(memory) : kNone});
    }
  }
  return table;
}

}  // namespace

// Returns whether rows have times of the parts of a step: a program may report none.
static bool HasParts(const Trial& trial) {
  const auto& parts = trial.phase_seconds;
  return trial.logged > 0 &&
         std::any_of(parts.begin(), parts.end(), [](double seconds) { return seconds > 0; });
}

void AppendStepTime(const Experiment& experiment, Document& document) {
  const auto [drawn, all] = DrawnWith(experiment, HasParts);
  if (drawn.empty()) return;
  document.blocks.push_back(Heading{"Where the time goes"});
  BarChart chart;
  chart.title = "Time of an optimizer step";
  chart.x_label = "milliseconds, mean over the logged steps";
  for (const spec::StepColumn& part : spec::kPartsOfStep) chart.parts.emplace_back(part.title);
  for (const SeedGroup& one : drawn) {
    BarChart::Bar& bar = chart.bars.emplace_back();
    bar.name = one.name;
    for (size_t i = 0; i < spec::kPartsOfStep.size(); ++i) {
      bar.values.push_back(1000 *
                           one.Mean([i](const Trial& trial) { return trial.phase_seconds[i]; }));
    }
  }
  document.blocks.push_back(
      Figure{std::move(chart),
             absl::StrCat("Exposed communication is the part that computing does not hide.",
                          LeftOutNote(drawn.size(), all, ""))});
  TextTable table;
  table.caption = "Milliseconds of a step; communication overlaps with computing";
  table.header = {"trial", "parameters"};
  table.text_columns = 2;
  for (const spec::StepColumn& part : spec::kPartsOfStep) table.header.emplace_back(part.title);
  for (const char* name : {"communication", "communication share", "exposed share", "tokens/s"}) {
    table.header.emplace_back(name);
  }
  for (const Trial& trial : experiment.trials) {
    if (!HasParts(trial)) continue;
    const Result result = ResultOf(trial);
    std::vector<std::string>& row = table.rows.emplace_back();
    row = {TrialName(trial.summary), AssignmentsText(trial.summary)};
    for (const double seconds : trial.phase_seconds) row.push_back(MillisecondsText(seconds));
    const bool alone = trial.summary.world_size() < 2;
    row.push_back(alone ? kNone : MillisecondsText(trial.comm_seconds));
    row.push_back(PercentText(result.comm_ratio));
    row.push_back(PercentText(result.comm_exposed_ratio));
    row.push_back(FormatRate(result.tokens_per_second));
  }
  document.blocks.push_back(std::move(table));
}

void AppendMemory(const Experiment& experiment, Document& document) {
  const auto [drawn, all] =
      DrawnWith(experiment, [](const Trial& trial) { return trial.memory_peak_bytes > 0; });
  if (drawn.empty()) return;
  BarChart chart;
  chart.title = "Memory of a rank";
  chart.x_label = "MiB, the most that one rank of the trial held";
  chart.parts = {"peak"};
  for (const SeedGroup& one : drawn) {
    const double bytes = one.Mean([](const Trial& trial) { return trial.memory_peak_bytes; });
    chart.bars.push_back({one.name, {bytes / (1 << 20)}});
  }
  document.blocks.push_back(Heading{"Memory"});
  document.blocks.push_back(
      Figure{std::move(chart),
             absl::StrCat("What tensors take at the peak of a step; of trials before that was "
                          "counted, on a CPU, what the process does.",
                          LeftOutNote(drawn.size(), all, ""))});
  TextTable table;
  table.header = {"trial", "parameters", "memory of a rank"};
  table.text_columns = 2;
  for (const Trial& trial : experiment.trials) {
    if (trial.memory_peak_bytes == 0) continue;
    table.rows.push_back({TrialName(trial.summary), AssignmentsText(trial.summary),
                          FormatBytes(trial.memory_peak_bytes)});
  }
  document.blocks.push_back(std::move(table));
}

void AppendScaling(const Experiment& experiment, Document& document) {
  const std::vector<Scaled> groups = ScaledIn(experiment);
  if (groups.empty()) return;
  document.blocks.push_back(Heading{"Scaling"});
  for (Figure figure : {EfficiencyFigure(groups), ShareFigure(groups)}) {
    if (!std::get<LineChart>(figure.chart).lines.empty()) {
      document.blocks.push_back(std::move(figure));
    }
  }
  document.blocks.push_back(ScalingTable(groups));
}

}  // namespace dt::report
