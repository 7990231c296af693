// search_bench.cc: how well the search finds good configurations, compared with Optuna, and its
// cost.
//
// Catalogue:
//   full    eleven problems, trials trained to their end: the true value at the best observation,
//           median and quartiles of --seeds (50) seeds, after 60 and 100 trials, one after another
//           and eight at a time; uniform draws, ours and Optuna's multivariate TPE with the same
//           problems, noise and durations.
//           Bar: our median is not above Optuna's upper quartile, and in at least half of the cells
//           not above its median.
//   ladder  lm4 and lm8 with learning curves of 64 steps and rungs at 1, 4 and 16: the budget in
//           full trainings until a fully trained trial is within 1 % of the best; a run gives up at
//           40. Uniform draws and ours, of --ladder-seeds (400), since the shares of runs that get
//           there differ by a few percent.
//           Bar: medians of 10, 16 and 32 over the first 50 seeds, for which it was set, in at
//           least as many of all runs as with uniform draws.
//   population  a training whose best learning rates fall over time: the true loss at the best of
//           8, 16 and 32 members that learn from each other, and of as many trials with fixed drawn
//           rates, --seeds of each.
//           Bar: the median of the members that learn is lower.
//   goals   ZDT1 with two objectives, and a sphere with a constraint: the share of the best
//           hypervolume, and of the best feasible cost, after 100 trials one after another, of
//           --seeds; uniform draws, ours and, with a Python that has it, Optuna's multivariate TPE.
//           Bar: our median is above that of uniform draws, and not below Optuna's lower quartile.
//   times   one proposal with 8 parameters after 1,000 and 10,000 trials (bar: 2 ms), and one
//           decision at a rung of 10,000 entries (bar: 20 µs), in processor time.
//
// Exit code 1 if a bar is missed, with a line for each.
//
// --python PROGRAM names a Python that can import Optuna, from a virtual environment for example;
// otherwise its results on ten of the problems come from published.h, for Optuna 5.0.0.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/search/goals.h"
#include "bench/search/optuna.h"
#include "bench/search/population.h"
#include "bench/search/problems.h"
#include "bench/search/published.h"
#include "bench/search/runs.h"
#include "common/draw.h"
#include "coordinator/search/ladder.h"

namespace dt::bench {
namespace {

constexpr int kSideBySide = 8;

struct Flags {
  uint64_t seeds = 50;
  uint64_t optuna_seeds = 50;
  uint64_t ladder_seeds = 400;
  std::string python = "python3";
  std::vector<std::string> parts = {"full", "ladder", "population", "goals", "times"};
  std::vector<std::string> problems;
};

// Missed bars, in words; the parts add to it.
using Missed = std::vector<std::string>;

double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  if (below + 1 == sorted.size()) return sorted[below];
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

Quartiles QuartilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {Quantile(values, 0.25), Quantile(values, 0.5), Quantile(values, 0.75)};
}

using ChooserOf = std::function<Chooser(const Problem&, uint64_t seed)>;

Cells CellsOf(const Problem& problem, const ChooserOf& chooser_of, uint64_t seeds) {
  Cells cells;
  for (const int workers : {1, kSideBySide}) {
    std::vector<double> earlier;
    std::vector<double> end;
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      const Marks marks = RunWhole(problem, chooser_of(problem, seed), workers, seed);
      earlier.push_back(marks.at_earlier);
      end.push_back(marks.at_end);
    }
    const size_t first = workers == 1 ? 0 : 2;
    cells[first] = QuartilesOf(earlier);
    cells[first + 1] = QuartilesOf(end);
  }
  return cells;
}

void Row(const std::string& problem, const std::string& who, const Cells& cells) {
  std::printf("%-12s %-16s", problem.c_str(), who.c_str());
  for (const Quartiles& cell : cells) {
    std::printf(
        "  %-30s",
        absl::StrFormat("%.4g (%.4g to %.4g)", cell.median, cell.lower, cell.upper).c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

// Returns Optuna's cells, measured or published; nullopt for a problem without published ones.
std::optional<Cells> TheirCells(const Flags& flags, const Problem& problem, Optuna* optuna) {
  if (optuna != nullptr) {
    const auto study = [&](const Problem& on, uint64_t seed) {
      return optuna->Study("mtpe", on, seed);
    };
    return CellsOf(problem, study, flags.optuna_seeds);
  }
  const auto* found =
      std::find_if(std::begin(kPublished), std::end(kPublished),
                   [&](const Published& each) { return each.problem == problem.name; });
  if (found == std::end(kPublished)) return std::nullopt;
  return found->cells;
}

void FullTrainings(const Flags& flags, Missed& missed) {
  const std::unique_ptr<Optuna> optuna = Optuna::Start(flags.python);
  const std::string peer =
      optuna == nullptr ? "Optuna 5.0.0 *" : absl::StrCat("Optuna ", optuna->version());
  if (optuna == nullptr) {
    std::printf("* as published: '%s' cannot import optuna\n", flags.python.c_str());
  } else {
    std::printf("Optuna: %d seeds\n", static_cast<int>(flags.optuna_seeds));
  }
  std::printf("%-12s %-16s  %-30s  %-30s  %-30s  %-30s\n", "problem", "sampler", "after 60",
              "after 100", "8 side by side: 60", "100");
  int cells = 0;
  int within = 0;
  int better = 0;
  std::string beyond;
  for (const Problem& problem : Problems()) {
    if (!flags.problems.empty() && std::find(flags.problems.begin(), flags.problems.end(),
                                             problem.name) == flags.problems.end()) {
      continue;
    }
    Row(problem.name, "uniform", CellsOf(problem, Uniform, flags.seeds));
    const Cells ours = CellsOf(problem, Ours, flags.seeds);
    Row("", "ours", ours);
    const std::optional<Cells> found = TheirCells(flags, problem, optuna.get());
    if (!found.has_value()) continue;
    const Cells& theirs = *found;
    Row("", peer, theirs);
    for (size_t i = 0; i < ours.size(); ++i) {
      ++cells;
      better += ours[i].median <= theirs[i].median ? 1 : 0;
      if (ours[i].median <= theirs[i].upper) {
        ++within;
      } else {
        absl::StrAppend(&beyond, " ", problem.name,
                        i < 2 ? " one after the other" : " side by side",
                        i % 2 == 0 ? " 60" : " 100", ";");
      }
    }
  }
  std::printf("at or below Optuna's upper quartile: %d of %d cells (bar: all)%s%s\n", within, cells,
              beyond.empty() ? "" : "; above:", beyond.c_str());
  std::printf("at or below Optuna's median: %d of %d cells (bar: half)\n\n", better, cells);
  if (within != cells) {
    missed.push_back(absl::StrCat("full: above Optuna's upper quartile:", beyond));
  }
  if (2 * better < cells) {
    missed.push_back(absl::StrFormat(
        "full: at or below Optuna's median in %d of %d cells, not in half", better, cells));
  }
}

struct LadderCell {
  const char* problem;
  int workers;
  double goal;  // 1 % above the best value of two million uniform draws
  double bar;
};
constexpr LadderCell kLadderCells[] = {
    {"lm4", 1, 4.68768, 10}, {"lm4", kSideBySide, 4.68768, 16}, {"lm8", kSideBySide, 4.69029, 32}};

constexpr size_t kBarSeeds = 50;

void WithLadder(const Flags& flags, Missed& missed) {
  std::printf("%-26s %-10s %-28s %s\n", "budget in full trainings", "sampler", "median (quartiles)",
              "runs that reached the goal");
  for (const LadderCell& cell : kLadderCells) {
    int reached_uniform = 0;
    for (const Sampling sampling : {Sampling::kUniform, Sampling::kTpe}) {
      std::vector<double> budgets;
      int reached = 0;
      for (uint64_t seed = 0; seed < flags.ladder_seeds; ++seed) {
        const Outcome outcome = RunLadder(ProblemNamed(cell.problem),
                                          {.sampling = sampling,
                                           .ladder = {.eta = 4, .rungs = 3},
                                           .workers = cell.workers,
                                           .budget_most = 40,
                                           .goal = cell.goal},
                                          seed);
        budgets.push_back(outcome.budget);
        reached += outcome.reached ? 1 : 0;
      }
      const Quartiles found = QuartilesOf(budgets);
      budgets.resize(std::min(budgets.size(), kBarSeeds));
      const double median = QuartilesOf(budgets).median;
      const bool ours = sampling == Sampling::kTpe;
      std::string verdict;
      if (ours) {
        const bool good = median <= cell.bar && reached >= reached_uniform;
        if (!good) {
          missed.push_back(absl::StrFormat(
              "ladder: %s, %d side by side: a median of %.1f (bar: %g), %d runs (bar: %d)",
              cell.problem, cell.workers, median, cell.bar, reached, reached_uniform));
        }
        verdict = absl::StrFormat("  (of the first %d seeds: %.1f; bar: %g, %d runs: %s)",
                                  static_cast<int>(budgets.size()), median, cell.bar,
                                  reached_uniform, good ? "met" : "not met");
      } else {
        reached_uniform = reached;
      }
      std::printf(
          "%-26s %-10s %-28s %d of %d%s\n",
          absl::StrCat(cell.problem, ", ", cell.workers, " side by side").c_str(),
          ours ? "ours" : "uniform",
          absl::StrFormat("%.1f (%.1f to %.1f)", found.median, found.lower, found.upper).c_str(),
          reached, static_cast<int>(flags.ladder_seeds), verdict.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("\n");
}

void WithPopulation(const Flags& flags, Missed& missed) {
  std::printf("%-26s %-28s %-28s %s\n", "budget in full trainings", "as they were drawn",
              "a population", "seeds in which it is the lower");
  for (const uint32_t members : {8u, 16u, 32u}) {
    std::vector<double> drawn;
    std::vector<double> learned;
    int lower = 0;
    for (uint64_t seed = 0; seed < flags.seeds; ++seed) {
      drawn.push_back(RunPopulation(members, Members::kStay, seed));
      learned.push_back(RunPopulation(members, Members::kLearn, seed));
      lower += learned.back() < drawn.back() ? 1 : 0;
    }
    const auto text = [](const Quartiles& of) {
      return absl::StrFormat("%.4f (%.4f to %.4f)", of.median, of.lower, of.upper);
    };
    const Quartiles stay = QuartilesOf(drawn);
    const Quartiles learn = QuartilesOf(learned);
    if (learn.median >= stay.median) {
      missed.push_back(
          absl::StrFormat("population: %d members that learn: a median of %.4f, not below %.4f",
                          static_cast<int>(members), learn.median, stay.median));
    }
    std::printf("%-26d %-28s %-28s %d of %d\n", static_cast<int>(members), text(stay).c_str(),
                text(learn).c_str(), lower, static_cast<int>(flags.seeds));
  }
  std::printf("\n");
}

void WithGoals(const Flags& flags, Missed& missed) {
  const std::unique_ptr<Optuna> optuna = Optuna::Start(flags.python);
  std::printf("%-16s %-12s %s\n", "100 trials", "sampler", "share of the best, median (quartiles)");
  for (const GoalProblem problem : {GoalProblem::kTwoObjectives, GoalProblem::kConstrained}) {
    const auto measure = [&](const char* who, uint64_t seeds, const auto& chooser_of) {
      std::vector<double> shares;
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        shares.push_back(RunGoals(problem, chooser_of(seed), kTrials));
      }
      const Quartiles found = QuartilesOf(shares);
      std::printf("%-16s %-12s %.4f (%.4f to %.4f)\n", NameOf(problem), who, found.median,
                  found.lower, found.upper);
      std::fflush(stdout);
      return found;
    };
    const Quartiles uniform = measure("uniform", flags.seeds, UniformGoals);
    const Quartiles ours = measure("ours", flags.seeds, OurGoals);
    if (ours.median <= uniform.median) {
      missed.push_back(
          absl::StrFormat("goals: %s: a median of %.4f, not above %.4f of uniform draws",
                          NameOf(problem), ours.median, uniform.median));
    }
    if (optuna == nullptr) continue;
    const Quartiles theirs = measure("Optuna", flags.optuna_seeds, [&](uint64_t seed) {
      return optuna->GoalStudy(problem, seed);
    });
    if (ours.median < theirs.lower) {
      missed.push_back(absl::StrFormat("goals: %s: a median of %.4f, below Optuna's quartile %.4f",
                                       NameOf(problem), ours.median, theirs.lower));
    }
  }
  std::printf("\n");
}

double ThreadSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Returns the median of `repeats` calls.
double SecondsOf(int repeats, const std::function<void(int)>& call) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double start = ThreadSeconds();
    call(i);
    seconds.push_back(ThreadSeconds() - start);
  }
  return QuartilesOf(seconds).median;
}

void Times(Missed& missed) {
  const Problem& problem = ProblemNamed("lm8");
  for (const uint32_t trials : {1000u, 10'000u}) {
    search::History history;
    for (uint32_t i = 1; i <= trials; ++i) {
      const spec::Point at = spec::DrawUniform(problem.space, {.seed = 5, .configuration = i});
      history.Open(i, at);
      if (i + kSideBySide <= trials) history.End(i, problem.value(at));
    }
    const double ask = SecondsOf(100, [&](int i) {
      search::Propose({.seed = 5}, problem.space, history, trials + 1 + static_cast<uint32_t>(i),
                      [](const spec::Point&) { return true; });
    });
    if (ask > 2e-3) {
      missed.push_back(absl::StrFormat("times: a proposal after %u trials: %.2f ms (bar: 2 ms)",
                                       trials, ask * 1e3));
    }
    std::printf("a proposal after %u trials of 8 parameters: %.2f ms (bar: 2 ms)\n", trials,
                ask * 1e3);
  }
  search::Rung rung;
  for (uint32_t i = 1; i <= 10'000; ++i) rung.Enter({}, i, DrawUnit({6, i}));
  const double decision = SecondsOf(1000, [&](int i) {
    const auto trial = 10'001 + static_cast<uint32_t>(i);
    rung.Enter({}, trial, DrawUnit({6, trial}));
  });
  if (decision > 20e-6) {
    missed.push_back(
        absl::StrFormat("times: a decision at a rung: %.2f µs (bar: 20 µs)", decision * 1e6));
  }
  std::printf("a decision at a rung of 10,000 entries: %.2f µs (bar: 20 µs)\n", decision * 1e6);
}

int Run(const Flags& flags) {
  Missed missed;
  for (const std::string& part : flags.parts) {
    if (part == "full") FullTrainings(flags, missed);
    if (part == "ladder") WithLadder(flags, missed);
    if (part == "population") WithPopulation(flags, missed);
    if (part == "goals") WithGoals(flags, missed);
    if (part == "times") Times(missed);
  }
  for (const std::string& each : missed) std::printf("MISSED  %s\n", each.c_str());
  if (missed.empty()) std::printf("every bar is met\n");
  return missed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace dt::bench

int main(int argc, char** argv) {
  CLI::App app("What the search finds, beside Optuna, and what it costs");
  dt::bench::Flags flags;
  app.add_option("--seeds", flags.seeds)->check(CLI::Range(1, 1000));
  app.add_option("--optuna-seeds", flags.optuna_seeds)->check(CLI::Range(1, 1000));
  app.add_option("--ladder-seeds", flags.ladder_seeds)->check(CLI::Range(1, 10'000));
  app.add_option("--python", flags.python, "a Python that can import optuna");
  app.add_option("--parts", flags.parts, "of full, ladder, population, goals, times")
      ->check(CLI::IsMember({"full", "ladder", "population", "goals", "times"}));
  app.add_option("--problems", flags.problems, "of the eleven; all unless given");
  CLI11_PARSE(app, argc, argv);
  return dt::bench::Run(flags);
}
