// pictures.js: the pictures of an experiment's parameters and metrics.
import {arranged} from "./arrange.js";
import {Contour} from "./contour.js";
import {goalOf} from "./curves.js";
import {check, choice, el, refreshControls} from "./dom.js";
import {Parallel, Scatter} from "./dots.js";
import {assignments} from "./format.js";
import {Front} from "./front.js";
import {Importance} from "./importance.js";
import {logPaths, varied} from "./parameters.js";
import {objectivesOf, ranksOf} from "./ranks.js";
import {Slices} from "./slices.js";
import {resultsOf} from "./trial_columns.js";

const SECONDS = "training seconds";
const AXES_MOST = 8;  // of parallel coordinates
const SEED = "seed";

export class Pictures {
  // changed(): called when values of other metrics are needed.
  constructor({settings, keep, onOpen, changed}) {
    Object.assign(this, {settings, keep, changed});
    this.parallel = new Parallel("Parallel coordinates", onOpen);
    this.scatter = new Scatter("Scatter plot", onOpen);
    this.scatterControls = el("div", {class: "controls"});
    this.slices = new Slices({settings, keep, onOpen});
    this.contour = new Contour({settings, keep, onOpen});
    this.front = new Front({settings, keep, onOpen, changed});
    this.importance = new Importance();
    const parts = {
      "Slices": this.slices.element,
      "Contour": this.contour.element,
      "Parallel coordinates": this.#section("Parallel coordinates", this.parallel.element),
      "Scatter plot": this.#section("Scatter plot", this.scatterControls, this.scatter.element),
      "Pareto front": this.front.element,
      "Importance": this.importance.element
    };
    this.element = el(
      "section", {"aria-label": "Parameters", hidden: true}, el("h2", {}, "Parameters"), arranged(parts, ["Slices"]));
  }

  #section(name, ...children) { return el("section", {"aria-label": name}, el("h3", {}, name), ...children); }

  // of: {experiment, all, shown, paths, metrics, own, newest}. all: the trials; shown: those that the filter leaves;
  // metrics: names of all metrics; own: those that a program reports; newest: by metric, the newest values by trial.
  set(of) {
    Object.assign(this, of);
    const paths = this.paths = of.paths.filter((path) => path !== SEED || of.paths.length === 1);
    this.element.hidden = paths.length === 0;
    if (!paths.length) return;
    this.results = resultsOf(this.experiment, this.all);
    this.metric = this.experiment.metric || "val_loss";
    this.logs = logPaths(this.experiment.spec?.parameters ?? []);
    this.ranks = ranksOf(this.experiment, this.all);
    this.#drawParallel();
    this.#drawScatter();
    const valued = this.shown.filter((t) => t.metric_value !== null);
    const best = this.experiment.best_trial;
    const common = {
      trials: valued,
      paths: varied(valued, paths),
      metric: this.metric,
      logs: this.logs,
      sign: this.experiment.goal === "maximize" ? -1 : 1,
      ofBest: (t) => t.trial === best,
      notes: assignments,
      signature: JSON.stringify([this.metric, best, valued.map((t) => [t.trial, t.metric_value, t.assignments])])
    };
    this.slices.set(common);
    this.contour.set(common);
    this.front.set(this.experiment, this.shown, this.#objectives(), (t, name) => this.#valueOf(t, name), assignments);
  }

  // Returns the names of the objectives of a search with several; else none.
  get #given() { return objectivesOf(this.experiment); }

  #valueOf(trial, name) {
    const objective = this.#given.indexOf(name);
    if (objective >= 0) return trial.objectives?.[objective];
    if (Object.hasOwn(this.results, name)) return this.results[name](trial);
    if (Object.hasOwn(trial.assignments, name)) return trial.assignments[name];
    return name === SECONDS ? trial.training_seconds : this.newest.get(name)?.get(trial.trial);
  }

  #item(trial) { return {key: trial.id, name: trial.id, colour: this.ranks.get(trial.trial)}; }

  // Leaves out a parameter that most of the trials lack: a line needs a value on each axis.
  #drawParallel() {
    const has = (path) => this.shown.filter((t) => Object.hasOwn(t.assignments, path)).length;
    const paths = this.paths.filter((path) => 2 * has(path) >= this.shown.length).slice(0, AXES_MOST);
    this.parallel.set(
      this.shown.map((t) => ({
                       ...this.#item(t),
                       values: Object.fromEntries([...paths, this.metric].map((n) => [n, this.#valueOf(t, n)]))
                     })),
      [...paths.map((name) => ({name, log: this.logs.has(name)})), {name: this.metric, log: false}]);
  }

  #drawScatter() {
    const {settings, paths} = this;
    const names = [...new Set([...paths, ...Object.keys(this.results), ...this.metrics])];
    const x = names.includes(settings.x) ? settings.x : paths[0];
    const y = names.includes(settings.y) ? settings.y : this.metric;
    const logX = (settings.logsx ?? (this.logs.has(x) ? "1" : "0")) === "1";
    const logY = settings.logsy === "1";
    const set = (change) => {
      Object.assign(settings, change);
      this.keep(change);
      this.#drawScatter();
      this.changed();
    };
    refreshControls(
      this.scatterControls, [names, x, y],
      () =>
        [choice("X axis", names, x, (v) => set({x: v})), choice("Y axis", names, y, (v) => set({y: v})),
         check("log x", logX, (on) => set({logsx: on ? "1" : "0"})),
         check("log y", logY, (on) => set({logsy: on ? "1" : null}))]);
    const number = (t, name) => Number(this.#valueOf(t, name) ?? NaN);
    this.scatter.set(this.shown.map((t) => ({...this.#item(t), x: number(t, x), y: number(t, y)})), {x, y, logX, logY});
  }

  // Returns the metrics for the Pareto front: the objectives, or the search metric first. An epoch only counts, so it
  // is left out.
  #objectives() {
    const goals = new Map(this.#given.map((name, i) => [name, this.experiment.goals[i]]));
    if (!goals.size) goals.set(this.metric, this.experiment.goal || "minimize");
    const seconds = this.all.some((t) => t.training_seconds) ? [SECONDS] : [];
    const names = new Set([...goals.keys(), ...this.own, ...seconds, ...Object.keys(this.results), ...this.metrics]);
    names.delete("epoch");
    return [...names].map((name) => ({name, goal: goals.get(name) ?? goalOf(name)}));
  }

  // Returns the drawn metrics whose newest values are to be read.
  wanted() {
    if (this.element.hidden) return [];
    const {x, y} = this.scatter.options;
    return [x, y, ...this.front.chosen].filter(
      (name) => !Object.hasOwn(this.results, name) && !this.#given.includes(name) && this.metrics.includes(name));
  }

  async refreshImportance(signal) {
    if (!this.element.hidden) await this.importance.refresh(this.experiment, signal);
  }

  close() {
    for (const one of [this.parallel, this.scatter, this.slices, this.contour, this.front]) one.close();
  }
}
