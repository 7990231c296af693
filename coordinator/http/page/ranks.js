// ranks.js: ranks trials: the best, the best quarter of those with a value, and the others. Colours as in dtctl's
// report: the best orange, the best quarter blue, the rest grey.
import {BEST, COLOURS} from "./scales.js";

// Returns whether a trial has a value and breaks no constraint.
export function counts(trial) { return trial.metric_value !== null && !trial.infeasible; }

// Returns the names of several objectives; none of a single one.
export function objectivesOf(experiment) { return experiment.metrics?.length > 1 ? experiment.metrics : []; }

// Returns started trials, the best first: the experiment's best, then the Pareto front of several objectives, then by
// value, then those that do not count. The report has the same order.
export function bestFirst(experiment, trials) {
  const sign = experiment.goal === "maximize" ? -1 : 1;
  const value = (t) => (counts(t) ? sign * t.metric_value : Infinity);
  const first = (t) => (t.trial === experiment.best_trial ? 0 : t.pareto && counts(t) ? 1 : 2);
  return trials.filter((t) => t.attempts > 0)
    .sort((a, b) => first(a) - first(b) || (value(a) === value(b) ? 0 : value(a) - value(b)) || a.trial - b.trial);
}

// Returns all trials, the best first, and those that have not started last.
export function inOrder(experiment, trials) {
  const started = bestFirst(experiment, trials);
  const ranked = new Set(started);
  return [...started, ...trials.filter((t) => !ranked.has(t))];
}

// Returns the rank of each trial: "best", "good" or "rest".
export function ranksOf(experiment, trials) {
  const valued = bestFirst(experiment, trials).filter(counts);
  const quarter = Math.max(1, Math.floor(valued.length / 4));
  return new Map(trials.map((t) => [t.trial, "rest"])
                   .concat(valued.map(
                     (t, i) =>
                       [t.trial,
                        t.trial === experiment.best_trial      ? "best" :
                          i < quarter && experiment.best_trial ? "good" :
                                                                 "rest"])));
}

// Returns colours: few trials get one colour each, the best trial the best's colour; many are coloured by rank among
// `shown`.
export function coloursOf(experiment, shown) {
  if (shown.length > COLOURS) return ranksOf(experiment, shown);
  const best = shown.some((t) => t.trial === experiment.best_trial);
  const free = Array.from({length: COLOURS}, (_, i) => i).filter((i) => !best || i !== BEST);
  const others = shown.filter((t) => t.trial !== experiment.best_trial).sort((a, b) => a.trial - b.trial);
  return new Map([...others.map((t, i) => [t.trial, free[i]]), ...(best ? [[experiment.best_trial, BEST]] : [])]);
}
