// curves.js: curves of several trials with settings: metric, smoothing, axes. Shared by the views of an experiment and
// of a comparison.
import {get, getCurves} from "./api.js";
import {check, choice, el, replace} from "./dom.js";
import {joinGroups} from "./groups.js";
import {Plot} from "./plot.js";
import {isProgram} from "./program.js";
import {seriesOf, seriesOver, textOfZoom, zoomOf} from "./series.js";

const METRICS = [
  "loss",
  "val_loss",
  "learning_rate",
  "grad_norm",
  "tokens_per_second",
  "flops_utilization_ratio",
  "comm_exposed_seconds",
  "data_seconds",
  "forward_seconds",
  "backward_seconds",
  "optimizer_seconds",
  "memory_peak_bytes",
  "rank_skew_seconds",
  "val_perplexity_mean",
  "hellaswag_acc",
];
// The better direction of each metric, whatever the experiment's own goal.
const GOALS = new Map(Object.entries({
  loss: "minimize",
  val_loss: "minimize",
  val_perplexity_mean: "minimize",
  tokens_per_second: "maximize",
  flops_utilization_ratio: "maximize",
  hellaswag_acc: "maximize",
}));
// Words in the names of metrics of which less is better, and of which more is.
const LESS = /loss|err|perplex|latency|cost|brier/i;
const MORE = /acc|score|auc|f1|precision|recall|reward|return|per_second|throughput|bleu|rouge|iou/i;
// Returns the better direction of a metric, by its name, as the report guesses it (report/words/ranking.h).
export function goalOf(name) {
  return GOALS.get(name) ?? (MORE.test(name) && !LESS.test(name) ? "maximize" : "minimize");
}
const TIME = ".training_seconds";
const EPOCH = "epoch";  // a metric that a program may report
const ACROSS = [["step", "steps"], ["epoch", "epochs"], ["tokens", "tokens"], ["time", "training time"]];
const LABELS = {
  step: "step",
  epoch: "epoch",
  tokens: "tokens",
  time: "training time in seconds"
};
// The curve that has the x of each step.
const CURVE_OF = {
  epoch: EPOCH,
  time: TIME
};
const POINTS_ALL = 20000;  // of all curves of a chart
const POINTS_MOST = 2000;
const POINTS_LEAST = 200;
const POINTS_PROBED = 2;

// Returns each curve's share of the chart's points. Uses few sizes, so that one answer serves many pages.
export function pointsFor(curves) {
  let points = POINTS_MOST;
  while (points > POINTS_LEAST && points * curves > POINTS_ALL) points /= 2;
  return Math.max(POINTS_LEAST, Math.floor(points));
}

// Makes the controls for the settings smooth, logx and logy.
export function looks(settings, logValues, set) {
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 0.99,
    step: 0.01,
    "data-focus": "Smoothing",
    value: settings.smooth ?? 0,
    on: {input: () => set({smooth: Number(slider.value) || null})}
  });
  return [
    el("label", {}, "Smoothing", slider),
    check("log steps", settings.logx === "1", (on) => set({logx: on ? "1" : null})),
    check(logValues, settings.logy === "1", (on) => set({logy: on ? "1" : null})),
  ];
}

export class Curves {
  constructor({label, settings, keep, onPoint = null, legend = true, changed}) {
    this.settings = settings;
    this.keep = keep;
    this.changed = changed;  // called when other rows are needed
    this.plot = new Plot({
      label,
      legend,
      onPoint,
      zoom: zoomOf(settings.zoom),
      onZoom: (zoom) => this.#keepOnly({zoom: textOfZoom(zoom)}),
      far: settings.far === "1",
      onFar: (far) => this.#keepOnly({far: far ? "1" : null})
    });
    this.shown = [];       // the curves of the trials
    this.drawn = [];       // the same, or one for each group
    this.searched = null;  // {metric, goal}: the metric that compares trials
    this.usual = null;     // the metric shown by default
    this.program = false;
    this.#startMetrics();
    this.controls = el("div", {class: "controls"});
    this.element = el("div", {}, this.controls, this.plot.element);
    this.#drawControls();
  }

  get metric() { return this.settings.metric || this.usual || this.searched?.metric || this.metrics[0]; }
  get across() { return ACROSS.some(([name]) => name === this.settings.over) ? this.settings.over : "step"; }

  // Sets whether all trials are of programs, which have only the metrics that they report, and not those of models that
  // dtrain trains. Returns whether that changed; then nothing is offered any more.
  setProgram(program) {
    if (this.program === program) return false;
    this.program = program;
    this.#startMetrics();
    this.#drawControls();
    return true;
  }

  #startMetrics() {
    this.known = new Set(this.program ? ["step"] : ["step", "tokens", "time"]);  // x axes that the trials have
    const names = this.program ? [] : METRICS;
    this.metrics = this.searched ? [...new Set([this.searched.metric, ...names])] : [...names];
    this.#keepChosen();
  }

  #keepChosen() {
    const {metric} = this.settings;
    if (metric && !this.metrics.includes(metric)) this.metrics.push(metric);
  }

  // Puts the metric that compares trials first. Shows it unless a person chose another or no trial has it yet.
  setSearched(metric, goal) {
    if (!metric || (this.searched?.metric === metric && this.searched.goal === goal)) return;
    this.searched = {metric, goal};
    this.metrics = [metric, ...this.metrics.filter((name) => name !== metric)];
    this.#drawControls();
  }

  // Adds metrics that trials report, and the x axes among them. Returns whether any metric is new.
  offer(names) {
    const [axes, known] = [Object.entries(CURVE_OF), this.known.size];
    for (const [axis, curve] of axes)
      if (names.includes(curve)) this.known.add(axis);
    const fresh = [...new Set(names)].filter((name) => name && name !== TIME && !this.metrics.includes(name));
    this.metrics = [...this.metrics, ...fresh];
    if (fresh.length || this.known.size > known) this.#drawControls();
    return fresh.length > 0;
  }

  // Returns the metrics to read: by default also the loss, while trials have no value to be compared by.
  #wanted() {
    if (this.settings.metric || !this.searched) return [this.metric].filter(Boolean);
    return [...new Set([this.searched.metric, "loss"])];
  }

  // Returns the metrics that not every trainer has.
  get own() { return this.program ? this.metrics : this.metrics.filter((name) => !METRICS.includes(name)); }

  close() { this.plot.close(); }

  #keepOnly(change) {
    Object.assign(this.settings, change);
    this.keep(change);
  }
  #set(change) {
    this.#keepOnly(change);
    this.#draw();
  }

  #drawControls() {
    const {settings} = this;
    const metric = choice("Metric", this.metrics, this.metric, (name) => {
      this.#set({metric: name});
      this.changed();
    });
    const axes = ACROSS.filter(([name]) => this.known.has(name) || name === this.across);
    const across = choice("X axis", axes, this.across, (over) => {
      this.plot.zoom = null;
      this.#set({over: over === "step" ? null : over, zoom: null});
      this.changed();
    });
    replace(
      this.controls, metric, axes.length > 1 ? across : null,
      looks(settings, "log values", (change) => this.#set(change)));
  }

  // Reads and draws the curves in `wanted`: [{experiment, trial, key, name, note, short, colour, strong, tokensPerStep,
  // tokensOfEpoch, group}]. Curves with the name of a group are drawn as one.
  async refresh(wanted, signal) {
    if (!this.known.has("epoch") && wanted.some((one) => one.tokensPerStep && one.tokensOfEpoch)) {
      this.known.add("epoch");
      this.#drawControls();
    }
    const {across} = this;
    const asked = this.#wanted();
    const chosen = this.settings.metric;
    const points = pointsFor(wanted.length * asked.length);
    const read = [...new Set([...asked, ...(CURVE_OF[across] ? [CURVE_OF[across]] : [])])];
    const curves = new Map();
    for (const experiment of new Set(wanted.map((one) => one.experiment))) {
      const trials =
        wanted.filter((one) => one.experiment === experiment).map((one) => one.trial).sort((a, b) => a - b);
      for (const [trial, of] of await getCurves(experiment, trials, read, points, signal)) {
        curves.set(`${experiment}/${trial}`, of);
      }
    }
    if (chosen !== this.settings.metric || across !== this.across) return;
    const has = (name) => [...curves.values()].some((of) => of[name]?.values.some((v) => v !== null));
    this.#setUsual(asked.find(has) ?? asked[0]);
    const {metric} = this;
    const signature = JSON.stringify([wanted, metric, across]);
    const same =
      this.signature === signature && this.data && [...curves].every(([key, of]) => this.data.get(key) === of);
    this.signature = signature;
    this.data = curves;
    if (same) return;
    const before = new Map(this.metricShown === metric + across ? this.shown.map((one) => [one.key, one.plain]) : []);
    this.metricShown = metric + across;
    this.shown = wanted.map((one) => {
      const plain = seriesOf(curves.get(one.key)?.[metric], before.get(one.key));
      return {...one, plain, ...this.#over(plain, one, curves.get(one.key))};
    });
    this.drawn = wanted.some((one) => one.group) ? joinGroups(this.shown) : this.shown;
    this.#draw();
  }

  #setUsual(metric) {
    if (this.settings.metric || this.usual === metric) return;
    this.usual = metric;
    this.#drawControls();
  }

  #over(plain, {tokensPerStep, tokensOfEpoch}, curves) {
    if (this.across === "tokens") {
      return tokensPerStep ? {xs: plain.xs.map((step) => step * tokensPerStep), ys: plain.ys} : seriesOf(null);
    }
    const over = CURVE_OF[this.across];
    if (!over) return plain;
    const of = seriesOf(curves?.[over]);
    const counted = this.across === "epoch" && !of.xs.length && tokensPerStep && tokensOfEpoch;
    return counted ? {xs: plain.xs.map((step) => (step * tokensPerStep) / tokensOfEpoch), ys: plain.ys} :
                     seriesOver(plain, of);
  }

  #goal() {
    const {metric} = this;
    return metric === this.searched?.metric && this.searched.goal ? this.searched.goal : GOALS.get(metric) ?? null;
  }

  #draw() {
    const {settings} = this;
    this.plot.set(this.drawn, {
      logX: settings.logx === "1",
      logY: settings.logy === "1",
      smooth: Number(settings.smooth ?? 0),
      x: LABELS[this.across],
      y: this.metric,
      goal: this.#goal(),
      empty: this.shown.some((one) => one.plain.xs.length) ? `${LABELS[this.across]}: unknown for these trials` :
                                                             "no values yet"
    });
  }
}

// Returns the metrics that a trial reported. For a program, also those that it shares with models that dtrain trains.
export async function reportedBy(experiment, trial, signal) {
  const path = `experiments/${trial.experiment}/trials/${trial.trial}/evaluations?tail=1`;
  const own = (await get(path, signal)).items.flatMap((one) => one.metrics.map((metric) => metric.name));
  if (!isProgram(experiment)) return own;
  const shared = await getCurves(trial.experiment, [trial.trial], [...METRICS, TIME], POINTS_PROBED, signal);
  const curves = Object.entries(shared.get(trial.trial) ?? {});
  return [...own, ...curves.filter(([, of]) => of.values.some((v) => v !== null)).map(([name]) => name)];
}

// Returns a trial's evaluations, with the generated texts.
export function getEvaluations(experiment, trial, signal) {
  return get(`experiments/${experiment}/trials/${trial}/evaluations?tail=50`, signal);
}
