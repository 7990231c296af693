#include "bench/search/runs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "common/check.h"
#include "coordinator/search/ladder.h"

namespace dt::bench {
namespace {

using spec::Point;

Point Proposed(const search::Plan& plan, const Problem& problem, const search::History& history,
               uint32_t configuration) {
  auto proposed = search::Propose(plan, problem.space, history, configuration,
                                  [](const Point&) { return true; });
  // Every problem has more combinations than this.
  DT_CHECK(std::holds_alternative<search::Proposal>(proposed));
  return std::get<search::Proposal>(std::move(proposed)).at;
}

// A run of a ladder: parallel trials, each at its own speed.
class LadderSimulation {
 public:
  LadderSimulation(const Problem& problem, const LadderRun& run, uint64_t seed)
      : problem_(problem), run_(run), seed_(seed), entries_(run.ladder.brackets) {
    for (auto& bracket : entries_) bracket.resize(run.ladder.rungs + 1);
  }

  Outcome Run() {
    while (true) {
      while (static_cast<int>(running_.size()) < run_.workers) Start();
      const auto [when, configuration, rung] = due_.top();
      due_.pop();
      now_ = when;
      if (Reach(configuration, rung)) return {Spent(), true};
      if (Spent() >= run_.budget_most) return {run_.budget_most, false};
    }
  }

 private:
  struct Trial {
    Point at;
    std::vector<search::RungStep> rungs;
    int bracket = 0;
    int step = 0;         // trained up to this step
    double since = 0;     // when it continued from there
    double per_step = 0;  // time for each step
  };

  void Start() {
    const auto configuration = static_cast<uint32_t>(trials_.size() + 1);
    Trial trial;
    trial.bracket = search::BracketOf(run_.ladder, configuration);
    trial.rungs = spec::RungSteps(run_.ladder, trial.bracket, kCurveSteps, 0);
    trial.per_step = DurationOf(seed_, configuration - 1) / kCurveSteps;
    trial.at =
        run_.sampling == Sampling::kTpe
            ? Proposed({.seed = seed_, .judged = search::Judged::kByRung}, problem_, history_,
                       configuration)
            : spec::DrawUniform(problem_.space, {.seed = seed_, .configuration = configuration});
    history_.Open(configuration, trial.at);
    trials_.push_back(std::move(trial));
    GoOn(configuration);
  }

  int StepAt(const Trial& trial, int rung) const {
    for (const search::RungStep& each : trial.rungs) {
      if (each.rung == rung) return static_cast<int>(each.step);
    }
    return kCurveSteps;
  }

  void GoOn(uint32_t configuration) {
    Trial& trial = trials_[configuration - 1];
    const int heading = search::HeadingFor(trial.rungs, static_cast<uint64_t>(trial.step));
    const int rung = heading == 0 ? run_.ladder.rungs + 1 : heading;
    trial.since = now_;
    running_.insert(configuration);
    due_.push({now_ + (StepAt(trial, rung) - trial.step) * trial.per_step, configuration, rung});
  }

  // Returns true if a trial that was trained to its end reaches the goal.
  bool Reach(uint32_t configuration, int rung) {
    Trial& trial = trials_[configuration - 1];
    const int step = StepAt(trial, rung);
    done_ += step - trial.step;
    trial.step = step;
    running_.erase(configuration);
    const double cost = OnCurve(problem_, trial.at, step, seed_, configuration - 1);
    history_.AtLevel(configuration, rung, cost);
    if (rung > run_.ladder.rungs) {
      history_.End(configuration, cost);
      return problem_.value(trial.at) <= run_.goal;
    }
    if (entries_[trial.bracket][rung].Enter(run_.ladder, configuration, cost).goes_on) {
      GoOn(configuration);
    } else {
      history_.End(configuration, cost);
    }
    return false;
  }

  double Spent() const {
    double steps = done_;
    for (const uint32_t configuration : running_) {
      const Trial& trial = trials_[configuration - 1];
      steps += (now_ - trial.since) / trial.per_step;
    }
    return steps / kCurveSteps;
  }

  const Problem& problem_;
  const LadderRun& run_;
  const uint64_t seed_;
  search::History history_;
  std::vector<Trial> trials_;
  std::vector<std::vector<search::Rung>> entries_;  // by bracket and rung
  std::set<uint32_t> running_;
  using Due = std::tuple<double, uint32_t, int>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  double now_ = 0;
  double done_ = 0;  // steps of trials that are not running
};

}  // namespace

Chooser Ours(const Problem& problem, uint64_t seed) {
  auto history = std::make_shared<search::History>();  // shared by both functions of the chooser
  return {.ask =
              [history, &problem, seed](uint32_t configuration) {
                Point at = Proposed({.seed = seed}, problem, *history, configuration);
                history->Open(configuration, at);
                return at;
              },
          .tell = [history](uint32_t configuration,
                            double cost) { history->End(configuration, cost); }};
}

Chooser Uniform(const Problem& problem, uint64_t seed) {
  return {.ask =
              [&problem, seed](uint32_t configuration) {
                return spec::DrawUniform(problem.space,
                                         {.seed = seed, .configuration = configuration});
              },
          .tell = [](uint32_t, double) {}};
}

Marks RunWhole(const Problem& problem, const Chooser& chooser, int workers, uint64_t seed) {
  using Due = std::pair<double, uint32_t>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due;
  std::vector<Point> points;
  Marks marks;
  double now = 0;
  double best = std::numeric_limits<double>::infinity();
  double best_value = 0;
  for (int ended = 0; ended < kTrials;) {
    while (static_cast<int>(due.size()) < workers && points.size() < kTrials) {
      const auto configuration = static_cast<uint32_t>(points.size() + 1);
      points.push_back(chooser.ask(configuration));
      due.push({now + DurationOf(seed, configuration - 1), configuration});
    }
    const auto [when, configuration] = due.top();
    due.pop();
    now = when;
    const Point& at = points[configuration - 1];
    const double cost = Observed(problem, at, seed, configuration - 1);
    chooser.tell(configuration, cost);
    if (cost < best) {
      best = cost;
      best_value = problem.value(at);
    }
    ++ended;
    if (ended == kEarlier) marks.at_earlier = best_value;
  }
  marks.at_end = best_value;
  return marks;
}

Outcome RunLadder(const Problem& problem, const LadderRun& run, uint64_t seed) {
  return LadderSimulation(problem, run, seed).Run();
}

}  // namespace dt::bench
