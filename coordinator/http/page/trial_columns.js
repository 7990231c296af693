// trial_columns.js: the columns of the table of an experiment's trials.
import {el, foreign} from "./dom.js";
import {any, bytes, duration, number, outcome, percent, progress, share, time, utilization} from "./format.js";
import {isProgram} from "./program.js";
import {objectivesOf} from "./ranks.js";

function trialLink(trial, mark) {
  const link = el("a", {href: `#/experiments/${trial.experiment}/trials/${trial.trial}`}, trial.id);
  return mark ? el("span", {class: "together"}, link, el("span", {class: "bestmark"}, mark)) : link;
}
const latestLoss = (t) => t.latest?.loss ?? null;
// The newest and the best value of the metric that compares trials, as in dtctl.
const newestOf = (t) => t.metric_newest ?? t.metric_value;
const bestOf = (t) => t.metric_value;
const VAL_LOSS = "val_loss";
const MEASURED = new Map([["val_perplexity_mean", "perplexity"], ["hellaswag_acc", "HellaSwag"]]);

// Returns the columns. `paths`: parameters. `own`: names of metrics that its program reports. `newest`: by metric, the
// newest values by trial, for metrics that are not among a trial's facts. A column with a `metric` takes its values
// from there. A program has no columns of models that dtrain trains, except for those that it reports.
export function trialColumns(experiment, trials, paths, own, newest) {
  const metric = experiment.metric;
  const objectives = objectivesOf(experiment);
  // Returns "best" or, with several objectives, "front".
  const mark = (t) => objectives.length ? t.pareto && "front" : t.trial === experiment.best_trial && "best";
  const fact = (key, title, value, text = number) =>
    ({key, title, number: true, value, cell: (t) => text(value(t)), hidden: true});
  const measured = (name, title) =>
    ({...fact(`m.${name}`, title, (t) => newest.get(name)?.get(t.trial)), metric: name});
  // Time in training, without waits.
  const seconds = (t) => t.training_seconds ?? null;
  const columns = [
    {key: "trial", title: "Trial", number: true, value: (t) => t.trial, cell: (t) => trialLink(t, mark(t))},
    // Each of several objectives has a column of its own, and no number stands twice.
    ...objectives.map((name, i) => ({
                        key: `o.${name}`,
                        title: name,
                        number: true,
                        value: (t) => t.objectives?.[i] ?? null,
                        cell: (t) => number(t.objectives?.[i] ?? null)
                      })),
    {key: "best", title: `best ${metric || VAL_LOSS}`, number: true, value: bestOf, cell: (t) => number(bestOf(t))},
    ...paths.map((path) => ({
                   key: `p.${path}`,
                   title: path,
                   number: true,
                   value: (t) => t.assignments[path],
                   cell: (t) => (t.assignments[path] === undefined ? null : foreign(any(t.assignments[path]))),
                 })),
    {
      key: "state",
      title: "State",
      value: (t) => (t.cause === "stopped_early" ? "stopped early" : t.state),
      cell: outcome
    },
    {key: "progress", title: "Progress", value: share, cell: (t) => progress(share(t), `progress of ${t.id}`)},
    {key: "step", title: "Step", number: true, value: (t) => t.step, cell: (t) => number(t.step)},
    {key: "metric", title: metric || "metric", number: true, value: newestOf, cell: (t) => number(newestOf(t))},
    {key: "loss", title: "loss", number: true, value: latestLoss, cell: (t) => number(latestLoss(t))},
    {
      key: "rate",
      title: "tokens/s",
      number: true,
      value: (t) => t.tokens_per_second,
      cell: (t) => number(t.tokens_per_second, 4)
    },
    ...((metric || VAL_LOSS) === VAL_LOSS ? [] : [fact("best_val_loss", `best ${VAL_LOSS}`, (t) => t.best_val_loss)]),
    fact("mfu", "MFU", (t) => utilization(t.latest), percent),
    fact("memory", "Memory", (t) => t.latest?.memory_peak_bytes || null, bytes),
    fact("comm", "Communication", (t) => t.comm_ratio, percent),
    fact("exposed", "Exposed communication", (t) => t.comm_exposed_ratio, percent),
    ...[...MEASURED].map(([name, title]) => measured(name, title)),
    ...own.filter((name) => !MEASURED.has(name)).map((name) => measured(name, name)),
    {key: "ranks", title: "Ranks", number: true, value: (t) => t.world_size},
    {key: "attempts", title: "Attempts", number: true, value: (t) => t.attempts},
    {
      key: "eta",
      title: "Time left",
      number: true,
      value: (t) => t.eta_seconds,
      cell: (t) => (t.ended_at ? null : duration(t.eta_seconds))
    },
    fact("took", "Training time", seconds, duration),
    fact("parameters", "Model size", (t) => t.model_parameters),
    {
      key: "workers",
      title: "Workers",
      value: (t) => t.workers.join(" "),
      cell: (t) => foreign(t.workers.join(", ")),
      hidden: true
    },
    {key: "seed", title: "Seed", number: true, value: (t) => t.seed, hidden: true},
    {key: "started", title: "Started", value: (t) => t.started_at, cell: (t) => time(t.started_at), hidden: true},
    {key: "ended", title: "Ended", value: (t) => t.ended_at, cell: (t) => time(t.ended_at), hidden: true},
    {key: "why", title: "Message", value: note, cell: (t) => foreign(note(t))},
  ];
  const shown = objectives.length ? columns.filter(({key}) => !toldBy(objectives, key)) : columns;
  if (!isProgram(experiment)) return shown;
  return shown.filter(({key, value}) => !OF_MODELS.has(key) || trials.some((t) => has(value(t))));
}

// Returns whether the columns of several objectives have the values of this one.
function toldBy(objectives, key) {
  return key === "best" || key === "metric" || objectives.includes(key) || objectives.includes(key.replace(/^m\./, ""));
}
const OF_MODELS = new Set([
  "loss", "rate", "best_val_loss", "mfu", "memory", "comm", "exposed", "m.val_perplexity_mean", "m.hellaswag_acc",
  "parameters"
]);
const has = (value) => value !== null && value !== undefined && !Number.isNaN(value);

// Returns how a trial ended, or what it waits for, a constraint that it breaks, and remarks on its reports.
function note(t) {
  const reports = t.state === "failed" ? null : t.hint;
  return [t.message ?? t.waiting, t.infeasible, reports].filter(Boolean).join("; ");
}

// Returns a trial's results that need no rows; for a program, only those that some trial has.
export function resultsOf(experiment, trials) {
  const results = {[experiment.metric || VAL_LOSS]: bestOf, loss: latestLoss, "tokens/s": (t) => t.tokens_per_second};
  if ((experiment.metric || VAL_LOSS) !== VAL_LOSS) results[`best ${VAL_LOSS}`] = (t) => t.best_val_loss;
  if (!isProgram(experiment)) return results;
  return Object.fromEntries(
    Object.entries(results).filter(([name, of]) => name === experiment.metric || trials.some((t) => has(of(t)))));
}
