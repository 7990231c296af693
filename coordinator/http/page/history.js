// history.js: the search metric of each trial, and the best value so far, over the trials or over time.
import {check, choice, el, replace} from "./dom.js";
import {number, plural} from "./format.js";
import {areaOf, farWords, nearestOf, orderOf, Picture, placesOf} from "./picture.js";
import {counts, ranksOf} from "./ranks.js";
import {colourOf, drawAxes, makeScale, nearRange, rangeOf} from "./scales.js";
import {axisOfTime} from "./time_axis.js";

const OVER = [["trial", "trials"], ["time", "time"]];

// Returns the items that improved on every item before them, in order of x. `sign`: -1 if larger values are better.
export function improvements(items, sign) {
  const steps = [];
  for (const one of [...items].sort((a, b) => a.x - b.x)) {
    if (one.counts && (!steps.length || sign * one.y < sign * steps.at(-1).y)) steps.push(one);
  }
  return steps;
}

// The drawing. An item is {key, name, colour, x, y, counts}. counts: whether the trial can become the best.
// Its options are {x, y, sign, logY, missing, going}. missing: number of trials without a value; going: number of
// trials left out because they have not ended.
class Drawing extends Picture {
  rows() {
    const {x, y, sign} = this.options;
    const best = new Set(improvements(this.items, sign));
    const rows = [["trial", "parameters", x, y, `best ${y} so far`]];
    let so = null;
    for (const one of [...this.items].sort((a, b) => a.x - b.x)) {
      if (best.has(one)) so = one.y;
      rows.push([one.name, one.note, one.x, one.y, so]);
    }
    return rows;
  }

  paint(context, width, height, colour) {
    const {x: label, sign, logY, missing, going} = this.options;
    const shown = this.items.filter((one) => !logY || one.y > 0);
    const area = areaOf(width, height);
    const ys = shown.map((one) => one.y);
    const near = nearRange(ys, logY);
    const y = makeScale(...rangeOf(near ?? ys, logY), logY);
    const [, last] = rangeOf(shown.map((one) => one.x), false);
    const x = makeScale(0, Math.max(last, 1), false);
    drawAxes(context, area, x, y, this.options, colour);
    this.places = placesOf(shown, area, x, y);
    const steps = improvements(shown, sign);
    this.#line(context, steps.map((one) => this.places.get(one)), area.left + area.width, colour.best);
    for (const one of [...shown].sort((a, b) => orderOf(a) - orderOf(b))) {
      context.beginPath();
      context.arc(...this.places.get(one), one === this.pointed ? 6.5 : one.colour === "best" ? 5.5 : 3.5, 0, 7);
      context.fillStyle = colourOf(one.colour, colour);
      context.fill();
    }
    const best = steps.length ? `best so far ${number(steps.at(-1).y)}, of ${steps.at(-1).name}` : "no values yet";
    const without = missing ? `; ${missing} ${missing === 1 ? "has" : "have"} no value yet` : "";
    const running = going ? `; ${going} not ended` : "";
    return `${plural(shown.length, "trial")} over ${label}; ${best}${without}${running}${farWords(near, ys)}`;
  }

  // Draws the best value so far: it changes at each improvement and stays until the next.
  #line(context, places, right, colour) {
    if (!places.length) return;
    const path = context.path?.() ?? new Path2D();
    path.moveTo(...places[0]);
    for (let i = 1; i < places.length; ++i) {
      path.lineTo(places[i][0], places[i - 1][1]);
      path.lineTo(...places[i]);
    }
    path.lineTo(right, places.at(-1)[1]);
    context.strokeStyle = colour;
    context.lineWidth = 1.6;
    context.stroke(path);
  }

  nearest(px, py) { return nearestOf(this.places, px, py); }

  tipOf(item) {
    const place = this.places.get(item);
    const note = item.note ? [item.note] : [];
    return place && {place, lines: [item.name, `${this.options.y}: ${number(item.y)}`, ...note]};
  }
}

export class History {
  // onOpen(item) opens a trial.
  constructor({settings, keep, onOpen}) {
    this.settings = settings;
    this.keep = keep;
    this.drawing = new Drawing("Best so far", onOpen);
    this.element = el(
      "section", {"aria-label": "Best so far", hidden: true}, el("h2", {}, "Best so far"), this.#controls(),
      this.drawing.element);
  }

  #controls() {
    const set = (change) => {
      Object.assign(this.settings, change);
      this.keep(change);
      this.#draw();
    };
    const over = this.settings.hover === "time" ? "time" : "trial";
    const controls = el("div", {class: "controls"});
    replace(
      controls, choice("X axis", OVER, over, (v) => set({hover: v === "time" ? v : null})),
      check("log values", this.settings.hlog === "1", (on) => set({hlog: on ? "1" : null})));
    return controls;
  }

  // `notes`: returns a trial's parameters in words.
  set(experiment, trials, notes) {
    Object.assign(this, {experiment, trials, notes});
    this.element.hidden = trials.length < 2;
    if (!this.element.hidden) this.#draw();
  }

  #draw() {
    const {experiment, trials, settings} = this;
    const ranks = ranksOf(experiment, trials);
    // A trial that a rung stopped trained for less. The coordinator compares it only if there is no other.
    const early = (t) => Boolean(experiment.rungs?.length) && t.cause === "stopped_early";
    const withValue = trials.filter((t) => t.metric_value !== null);
    const valued = withValue.filter((t) => settings.hover !== "time" || t.ended_at);
    const all = valued.filter(counts).every(early);
    const {unit, x} = this.#axis(valued);
    this.drawing.set(
      valued.map((t) => ({
                   key: t.id,
                   name: t.id,
                   note: this.notes(t),
                   colour: ranks.get(t.trial),
                   x: x(t),
                   y: t.metric_value,
                   counts: counts(t) && (all || !early(t))
                 })),
      {
        x: unit,
        y: experiment.metric || "val_loss",
        sign: experiment.goal === "maximize" ? -1 : 1,
        logY: settings.hlog === "1",
        missing: trials.length - withValue.length,
        going: withValue.length - valued.length
      });
  }

  // Returns the name of the axis, and a trial's place on it.
  #axis(valued) {
    if (this.settings.hover !== "time") return {unit: "trial", x: (t) => t.trial};
    const {unit, at} = axisOfTime(this.experiment.submitted_at, valued.map((t) => t.ended_at));
    return {unit, x: (t) => at(t.ended_at)};
  }

  close() { this.drawing.close(); }
}
