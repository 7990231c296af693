// curves.js: curves of several trials with what a person may set: metric, smoothing, axes. Shared by the views of an
// experiment and of a comparison.
import {get, getCurves} from "./api.js";
import {check, choice, el, replace} from "./dom.js";
import {Plot, seriesOf, textOfZoom, zoomOf} from "./plot.js";

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
const POINTS_ALL = 20000;  // of all curves of a chart
const POINTS_MOST = 2000;
const POINTS_LEAST = 200;

// As many points a curve as its share of the chart, in few sizes, so that an answer is made once for many pages.
export function pointsFor(curves) {
  let points = POINTS_MOST;
  while (points > POINTS_LEAST && points * curves > POINTS_ALL) points /= 2;
  return Math.max(POINTS_LEAST, Math.floor(points));
}

// How curves look, as a person may set it: controls of the settings smooth, logx and logy.
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
  constructor({label, settings, keep, onPoint = null, changed}) {
    this.settings = settings;
    this.keep = keep;
    this.changed = changed;  // what to do when other rows are wanted
    this.plot = new Plot(
      {label, onPoint, zoom: zoomOf(settings.zoom), onZoom: (zoom) => this.#keepOnly({zoom: textOfZoom(zoom)})});
    this.shown = [];
    this.metrics = [...METRICS];
    if (settings.metric && !this.metrics.includes(settings.metric)) this.metrics.push(settings.metric);
    this.controls = el("div", {class: "controls"});
    this.element = el("div", {}, this.controls, this.plot.element);
    this.#drawControls();
  }

  get metric() { return this.settings.metric || this.metrics[0]; }

  // Metrics of a program's own, once they are known: whether there are any new ones. The first of all is the one that
  // is shown.
  offer(names, first) {
    const fresh = [...new Set(names)].filter((name) => name && !this.metrics.includes(name));
    if (!fresh.length) return false;
    this.metrics = first ? [...fresh, ...this.metrics] : [...this.metrics, ...fresh];
    this.#drawControls();
    return true;
  }

  // Those that are no column of every trainer's.
  get own() { return this.metrics.filter((name) => !METRICS.includes(name)); }

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
    replace(this.controls, metric, looks(settings, "log values", (change) => this.#set(change)));
  }

  // Reads and draws the curves of these: [{experiment, trial, key, name, note, colour, strong}].
  async refresh(wanted, signal) {
    const {metric} = this;
    const points = pointsFor(wanted.length);
    const curves = new Map();
    for (const experiment of new Set(wanted.map((one) => one.experiment))) {
      const trials =
        wanted.filter((one) => one.experiment === experiment).map((one) => one.trial).sort((a, b) => a - b);
      for (const [trial, of] of await getCurves(experiment, trials, [metric], points, signal)) {
        curves.set(`${experiment}/${trial}`, of);
      }
    }
    if (metric !== this.metric) return;
    const signature = wanted.map((one) => [one.key, one.strong]).join() + metric;
    const same =
      this.signature === signature && this.data && [...curves].every(([key, of]) => this.data.get(key) === of);
    this.signature = signature;
    this.data = curves;
    if (same) return;
    const before = new Map(this.metricShown === metric ? this.shown.map((one) => [one.key, one]) : []);
    this.metricShown = metric;
    this.shown = wanted.map((one) => ({...one, ...seriesOf(curves.get(one.key)?.[metric], before.get(one.key))}));
    this.#draw();
  }

  #draw() {
    const {settings} = this;
    this.plot.set(this.shown, {
      logX: settings.logx === "1",
      logY: settings.logy === "1",
      smooth: Number(settings.smooth ?? 0),
      x: "step",
      y: this.metric
    });
  }
}

// Steps of a trial at which something is to be seen: evaluations with the texts that were generated.
export function getEvaluations(experiment, trial, signal) {
  return get(`experiments/${experiment}/trials/${trial}/evaluations?tail=50`, signal);
}
