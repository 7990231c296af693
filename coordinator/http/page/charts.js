// charts.js: the charts of an experiment side by side. The first is always there; a person adds others, which the
// address contains as chart2, chart3, ….
import {Curves} from "./curves.js";
import {el} from "./dom.js";
import {inLayout} from "./layout.js";

const CHARTS_MOST = 8;
const CHARTS = Array.from({length: CHARTS_MOST - 1}, (_, i) => i + 2);  // numbers of the added charts

export class Charts {
  // changed: called when other rows are needed. onPoint(key): called when a person points at a curve, or at none.
  constructor({settings, keep, changed, onPoint}) {
    Object.assign(this, {settings, keep, changed, onPoint});
    this.offered = [];
    this.searched = null;
    this.program = false;
    this.first =
      new Curves({label: "Curves", settings, keep, changed, onPoint: (key) => this.#pointed(key, this.first)});
    this.added = new Map();  // by number: {curves, element}
    // For the view to place.
    this.button = el("button", {type: "button", on: {click: () => this.#add()}}, "Add a chart");
    this.element = el("div", {class: "columns"});
    this.main = el("section", {"aria-label": "Curves"}, el("h2", {}, "Curves"), this.first.element);
    this.element.append(this.main);
    for (const number of CHARTS)
      if (settings[`chart${number}`]) this.element.append(this.#open(number));
    this.#drawButton();
  }

  // Shows a picture of this name beside the first chart.
  beside(name, element) { this.element.prepend(...inLayout({"Curves": this.main, [name]: element})); }

  get all() { return [this.first, ...[...this.added.values()].map((one) => one.curves)]; }
  get metrics() { return this.first.metrics; }
  get own() { return this.first.own; }

  #open(number) {
    const name = `chart${number}`;
    const settings = Object.fromEntries(new URLSearchParams(this.settings[name]));
    const label = `Chart ${number}`;
    const keep = () => {
      const set = Object.entries(settings).filter(([, value]) => value !== null && value !== undefined);
      this.settings[name] = new URLSearchParams(set).toString() || "metric=";
      this.keep({[name]: this.settings[name]});
    };
    const curves = new Curves(
      {label, settings, keep, changed: this.changed, legend: false, onPoint: (key) => this.#pointed(key, curves)});
    curves.setProgram(this.program);
    if (this.searched) curves.setSearched(...this.searched);
    curves.offer(this.offered);
    const remove = el(
      "button", {type: "button", "aria-label": `Remove ${label}`, on: {click: () => this.#remove(number)}}, "Remove");
    const element = el("section", {"aria-label": label}, el("h2", {class: "row"}, label, " ", remove), curves.element);
    this.added.set(number, {curves, element});
    return element;
  }

  // Adds a chart of the first metric that no chart shows.
  #add() {
    const number = CHARTS.find((one) => !this.added.has(one));
    const shown = new Set(this.all.map((one) => one.metric));
    const metric = this.metrics.find((name) => !shown.has(name)) ?? this.first.metric;
    this.settings[`chart${number}`] = new URLSearchParams({metric}).toString();
    this.keep({[`chart${number}`]: this.settings[`chart${number}`]});
    this.element.append(this.#open(number));
    this.#drawButton();
    this.changed();
  }

  #remove(number) {
    const {curves, element} = this.added.get(number);
    curves.close();
    element.remove();
    this.added.delete(number);
    this.settings[`chart${number}`] = null;
    this.keep({[`chart${number}`]: null});
    this.#drawButton();
    this.button.focus();
  }

  #drawButton() { this.button.disabled = this.added.size === CHARTS.length; }

  #pointed(key, by) {
    for (const one of this.all)
      if (one !== by) one.plot.point(key);
    this.onPoint(key);
  }

  // Highlights a trial's curves, for another view.
  point(key) {
    for (const one of this.all) one.plot.point(key);
  }

  setProgram(program) {
    this.program = program;
    for (const one of this.all) one.setProgram(program);
  }
  setSearched(metric, goal) {
    this.searched = [metric, goal];
    for (const one of this.all) one.setSearched(metric, goal);
  }
  offer(names) {
    this.offered = names;
    return this.all.map((one) => one.offer(names)).some(Boolean);
  }
  async refresh(wanted, signal) {
    for (const one of this.all) await one.refresh(wanted, signal);
  }
  close() {
    for (const one of this.all) one.close();
  }
}
