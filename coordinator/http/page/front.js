// front.js: the Pareto front of two metrics: the trials that no other trial beats in one metric without being worse in
// the other.
import {check, choice, el, refreshControls} from "./dom.js";
import {number, plural} from "./format.js";
import {areaOf, farWords, nearestOf, orderOf, Picture, placesOf} from "./picture.js";
import {colourOf, drawAxes, makeScale, nearRange, rangeOf} from "./scales.js";

const NAMES_MOST = 6;  // trials of the front that the caption names
const COLOURS = [["best", "orange: on the front"], ["rest", "grey: others"]];
const GOALS = [["minimize", "minimize"], ["maximize", "maximize"]];

// Returns the items on the front, the best by x first. signs: [of x, of y], -1 if larger values are better. Of equal
// items all are on the front. An item that is not feasible is never on it.
export function frontOf(items, [signX, signY]) {
  const good = items.filter((one) => Number.isFinite(one.x) && Number.isFinite(one.y) && !one.infeasible);
  good.sort((a, b) => signX * (a.x - b.x) || signY * (a.y - b.y));
  const front = [];
  for (const one of good) {
    const last = front.at(-1);
    if (!last || signY * one.y < signY * last.y || (one.x === last.x && one.y === last.y)) front.push(one);
  }
  return front;
}

// The drawing. An item is {key, name, note, x, y, colour, infeasible}. infeasible: which constraint it breaks, or null.
class Drawing extends Picture {
  constructor(label, onOpen) { super(label, onOpen, "low", COLOURS); }

  set(items, options) {  // {x, y, goals, logX, logY}
    this.options = options;
    const {goals, logX, logY} = options;
    const both = items.filter((one) => Number.isFinite(one.x) && Number.isFinite(one.y));
    const drawn = both.filter((one) => (!logX || one.x > 0) && (!logY || one.y > 0));
    this.without = items.length - both.length;
    this.offScale = both.length - drawn.length;
    this.front = frontOf(both, goals.map((goal) => (goal === "maximize" ? -1 : 1)));
    const on = new Set(this.front);
    for (const one of drawn) one.colour = on.has(one) ? "best" : "rest";
    this.show(drawn);
  }

  rows() {
    const on = new Set(this.front.map((one) => one.key));
    return [
      ["trial", this.options.x, this.options.y, "on the front", "parameters"],
      ...this.items.map((one) => [one.name, one.x, one.y, on.has(one.key) ? "yes" : "no", one.note])
    ];
  }

  paint(context, width, height, colour) {
    const {x: xName, y: yName, logX, logY, goals} = this.options;
    const [xs, ys] = [this.items.map((one) => one.x), this.items.map((one) => one.y)];
    const [nearX, nearY] = [nearRange(xs, logX), nearRange(ys, logY)];
    const x = makeScale(...rangeOf(nearX ?? xs, logX), logX);
    const y = makeScale(...rangeOf(nearY ?? ys, logY), logY);
    const area = areaOf(width, height);
    drawAxes(context, area, x, y, this.options, colour);
    this.places = placesOf(this.items, area, x, y);
    this.#line(context, this.front.map((one) => this.places.get(one)).filter(Boolean), colour);
    for (const one of [...this.items].sort((a, b) => orderOf(a) - orderOf(b))) {
      context.beginPath();
      context.arc(...this.places.get(one), one === this.pointed ? 6.5 : one.colour === "best" ? 5 : 3.5, 0, 7);
      context.fillStyle = one.infeasible ? colour.ground : colourOf(one.colour, colour);
      context.fill();
      if (!one.infeasible) continue;
      context.lineWidth = 1.2;
      context.strokeStyle = colourOf(one.colour, colour);
      context.stroke();
    }
    const names = this.front.map((one) => one.name);
    const broken = this.items.filter((one) => one.infeasible).length;
    const named = names.slice(0, NAMES_MOST).join(", ") + (names.length > NAMES_MOST ? ", …" : "");
    return `${goals[1]} ${yName}, ${goals[0]} ${xName}: ${number(names.length)} of ${
             plural(this.items.length + this.offScale, "trial")} on the front${names.length ? `: ${named}` : ""}` +
      (broken ? `; ${broken} infeasible (hollow)` : "") +
      (this.without ? `; ${this.without} without both values` : "") +
      (this.offScale ? `; ${this.offScale} not above 0, so not on a log axis` : "") + farWords(nearX, xs) +
      farWords(nearY, ys);
  }

  // Draws the edge of what the trials reached: from one of the front along x to the next, then along y.
  #line(context, places, colour) {
    if (places.length < 2) return;
    const path = context.path?.() ?? new Path2D();
    path.moveTo(...places[0]);
    for (let i = 1; i < places.length; ++i) {
      path.lineTo(places[i][0], places[i - 1][1]);
      path.lineTo(...places[i]);
    }
    context.strokeStyle = colour.best;
    context.lineWidth = 1.4;
    context.stroke(path);
  }

  nearest(px, py) { return nearestOf(this.places, px, py); }

  tipOf(item) {
    const place = this.places.get(item);
    const {x, y} = this.options;
    const note = [item.note, item.infeasible].filter(Boolean);
    return place && {place, lines: [item.name, `${y}: ${number(item.y)}`, `${x}: ${number(item.x)}`, ...note]};
  }
}

export class Front {
  // Calls changed() when other values are needed.
  constructor({settings, keep, onOpen, changed}) {
    Object.assign(this, {settings, keep, changed});
    this.drawing = new Drawing("Pareto front", onOpen);
    this.controls = el("div", {class: "controls"});
    this.element = el(
      "section", {"aria-label": "Pareto front", hidden: true}, el("h3", {}, "Pareto front"), this.controls,
      this.drawing.element);
  }

  // metrics: [{name, goal}], the search metric first. of(trial, name) returns a value. notes: as in Slices.set().
  set(experiment, trials, metrics, of, notes) {
    Object.assign(this, {trials, metrics, of, notes});
    this.element.hidden = metrics.length < 2 || trials.length < 2;
    if (!this.element.hidden) this.#draw();
  }

  // Returns the chosen metrics: of x, of y.
  get chosen() {
    if (this.element.hidden) return [];
    const names = this.metrics.map((one) => one.name);
    const y = names.includes(this.settings.fy) ? this.settings.fy : names[0];
    const others = names.filter((name) => name !== y);
    return [others.includes(this.settings.fx) ? this.settings.fx : others[0], y];
  }

  #goal(name, setting) {
    const said = this.settings[setting];
    return said === "minimize" || said === "maximize" ? said : this.metrics.find((one) => one.name === name).goal;
  }

  #draw() {
    const [x, y] = this.chosen;
    const goals = [this.#goal(x, "fxgoal"), this.#goal(y, "fygoal")];
    const {flogx, flogy} = this.settings;
    this.#drawControls(x, y, goals);
    const items = this.trials.map((t) => ({
                                    key: t.id,
                                    name: t.id,
                                    note: this.notes(t),
                                    infeasible: t.infeasible ?? null,
                                    x: Number(this.of(t, x) ?? NaN),
                                    y: Number(this.of(t, y) ?? NaN)
                                  }));
    this.drawing.set(items, {x, y, goals, logX: flogx === "1", logY: flogy === "1"});
  }

  #drawControls(x, y, goals) {
    const names = this.metrics.map((one) => one.name);
    const {flogx, flogy} = this.settings;
    const set = (change) => {
      Object.assign(this.settings, change);
      this.keep(change);
      this.#draw();
      this.changed();
    };
    const others = names.filter((name) => name !== y);
    const setY = (name) => set({fy: name, fygoal: null, ...(name === x ? {fx: y, fxgoal: null} : {})});
    refreshControls(
      this.controls, [names, x, y, goals, flogx, flogy],
      () =>
        [choice("X axis", others, x, (name) => set({fx: name, fxgoal: null})),
         choice("X goal", GOALS, goals[0], (goal) => set({fxgoal: goal})), choice("Y axis", names, y, setY),
         choice("Y goal", GOALS, goals[1], (goal) => set({fygoal: goal})),
         check("log x", flogx === "1", (on) => set({flogx: on ? "1" : null})),
         check("log y", flogy === "1", (on) => set({flogy: on ? "1" : null}))]);
  }

  close() { this.drawing.close(); }
}
