// rungs.js: the rungs at which a search by successive halving compares its trials: who came, who went on, and what the
// next has to beat. It is read from the trials' own evaluations, by the rules of coordinator/search/ladder.h.
import {getCurves} from "./api.js";
import {el, replace} from "./dom.js";
import {number} from "./format.js";

const TRIALS_MOST = 1000;  // whose evaluations are read
const POINTS = 500;        // of each
const ASK_MS = 5000;       // no rung's table is made more often

// The numbers of search.asha with the defaults of spec/rungs.h.
function ladderOf(spec) {
  const said = spec.search.asha ?? {};
  return {eta: said.eta || 3, rungs: said.rungs || 3, brackets: said.brackets || 1};
}

// The bracket of each configuration, from the first: the one with the smallest (given + 1) / weight, where a bracket's
// weight is eta^(rungs−b) / (rungs−b+1). Bracket b leaves out the first b rungs.
export function bracketsOf({eta, rungs, brackets}, configurations) {
  const weights = Array.from({length: brackets}, (_, b) => eta ** (rungs - b) / (rungs - b + 1));
  const given = weights.map(() => 0);
  return Array.from({length: configurations}, () => {
    let first = 0;
    for (let b = 1; b < brackets; ++b) {
      if ((given[b] + 1) * weights[first] < (given[first] + 1) * weights[b]) first = b;
    }
    ++given[first];
    return first;
  });
}

// [{rung, step}] of a trial: shares of its own target, beyond its warm-up.
export function rungsOf({eta, rungs}, bracket, target, warmup) {
  const list = [];
  for (let rung = bracket + 1; rung <= rungs; ++rung) {
    const step = Math.ceil(target / eta ** (rungs + 1 - rung));
    if (step > (list.at(-1)?.step ?? warmup) && step < target) list.push({rung, step});
  }
  return list;
}

function warmupOf(experiment, trial) {
  if (experiment.program) return 0;
  const of = (name) => trial.assignments[`schedule.${name}`] ?? experiment.spec.base.schedule?.[name] ?? 0;
  return of("warmup_steps") >= 0 ? of("warmup_steps") : Math.round(of("warmup_ratio") * trial.target_steps);
}

// The first evaluation of each rung: a trainer evaluates at its very step, a program where it likes.
function enteredAt(rungs, steps, values, anywhere) {
  const entered = new Map();
  steps.forEach((step, i) => {
    const here = rungs.filter((one) => (anywhere ? one.step <= step : one.step === step)).at(-1);
    if (here && values[i] !== null && here.rung > Math.max(0, ...entered.keys())) entered.set(here.rung, values[i]);
  });
  return entered;
}

// [{bracket, rung, least, most, entered, stopped, failed, costs}]; curves: {steps, values} of the metric by trial.
// A cost is a value, of which less is better. A failed trial is entered where it was heading for, as the worst.
export function standings(experiment, trials, curves) {
  const ladder = ladderOf(experiment.spec);
  const replicates = Math.max(1, experiment.spec.seeds?.length ?? 0);
  const sign = experiment.goal === "maximize" ? -1 : 1;
  const brackets = bracketsOf(ladder, Math.ceil(Math.max(0, ...trials.map((t) => t.trial)) / replicates));
  const table = new Map();
  const at = (bracket, {rung, step}) => {
    const key = `${bracket}/${rung}`;
    const fresh = {bracket, rung, least: step, most: step, entered: 0, stopped: 0, failed: 0, costs: []};
    const row = table.get(key) ?? fresh;
    table.set(key, row);
    row.least = Math.min(row.least, step);
    row.most = Math.max(row.most, step);
    return row;
  };
  for (const trial of trials) {
    if (!trial.target_steps) continue;
    const bracket = brackets[Math.ceil(trial.trial / replicates) - 1];
    const rungs = rungsOf(ladder, bracket, trial.target_steps, warmupOf(experiment, trial));
    const {steps = [], values = []} = curves.get(trial.trial) ?? {};
    const entered = enteredAt(rungs, steps, values, experiment.program);
    const stopped = trial.cause === "stopped_early" ? Number(/^rung (\d+) /.exec(trial.message ?? "")?.[1] ?? 0) : 0;
    const last = Math.max(0, ...entered.keys());
    const heading = trial.state === "failed" ? rungs.find((one) => one.rung > last) : undefined;
    for (const one of rungs) {
      const row = at(bracket, one);
      if (!entered.has(one.rung) && one !== heading) continue;
      ++row.entered;
      if (one === heading) ++row.failed;
      if (one.rung === stopped) ++row.stopped;
      row.costs.push(one === heading ? Infinity : sign * entered.get(one.rung));
    }
  }
  for (const row of table.values()) {
    row.costs.sort((a, b) => a - b);
    const valueAt = (place) => (Number.isFinite(row.costs[place - 1]) ? sign * row.costs[place - 1] : null);
    row.best = valueAt(1);
    row.beat = valueAt(Math.max(1, Math.floor((row.entered + 1) / ladder.eta)));
  }
  return [...table.values()].sort((a, b) => a.bracket - b.bracket || a.rung - b.rung);
}

export class Rungs {
  constructor() {
    this.element = el("section", {"aria-label": "Rungs", hidden: true});
    this.asked = -Infinity;
  }

  async refresh(experiment, trials, signal) {
    const now = performance.now();
    const over = experiment.ended_at !== null;
    if (experiment.spec?.search?.method !== "asha" || trials === this.trials) return;
    if (now - this.asked < ASK_MS && !over) return;
    const metric = experiment.metric === "loss" ? "train_loss" : experiment.metric;  // what an evaluation has of it
    const started = trials.filter((t) => t.attempts > 0).slice(0, TRIALS_MOST);
    const read = await getCurves(experiment.experiment, started.map((t) => t.trial), [metric], POINTS, signal);
    this.asked = now;
    this.trials = trials;
    const curves = new Map([...read].map(([trial, of]) => [trial, of[metric]]));
    this.#draw(experiment, standings(experiment, started, curves), trials.length > TRIALS_MOST);
  }

  #draw(experiment, rows, cut) {
    const {eta, brackets} = ladderOf(experiment.spec);
    this.element.hidden = rows.length === 0;
    const range = (row) => (row.least === row.most ? number(row.most) : `${number(row.least)} to ${number(row.most)}`);
    const cells = (row) =>
      [brackets > 1 ? row.bracket : null, row.rung, range(row), number(row.entered),
       number(row.entered - row.stopped - row.failed), number(row.stopped), number(row.failed), number(row.best),
       number(row.beat)];
    const head = [
      brackets > 1 ? "bracket" : null, "rung", "step", "came", "went on", "stopped", "failed before",
      `best ${experiment.metric}`, "the next has to beat"
    ];
    replace(
      this.element, el("h2", {}, "Rungs"),
      el(
        "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Rungs of the search"},
        el(
          "table", {}, el("caption", {}, "Rungs of the search"),
          el(
            "thead", {},
            el("tr", {}, head.map((text) => (text === null ? null : el("th", {scope: "col", class: "number"}, text))))),
          el(
            "tbody", {},
            rows.map(
              (row) =>
                el("tr", {}, cells(row).map((cell) => (cell === null ? null : el("td", {class: "number"}, cell)))))))),
      el(
        "p", {class: "dim"},
        `Each trial is compared when it comes, with those that came before it: one in ${
          eta} goes on, the best of them ` +
          `always.${cut ? ` Of the first ${number(TRIALS_MOST)} trials.` : ""}`));
  }
}
