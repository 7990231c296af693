// slices.js: the search metric over each parameter, a small picture for each. A dot's shade is the number of its trial,
// so that one sees where the search went.
import {check, el, replace} from "./dom.js";
import {any, number, plural} from "./format.js";
import {axisOf} from "./parameters.js";
import {areaOf, farWords, nearestOf, Picture, placesOf} from "./picture.js";
import {drawAxes, makeScale, nearRange, rangeOf, shadeOf} from "./scales.js";

const SHOWN_FIRST = 12;  // pictures at first

// The picture of a parameter. An item is {key, name, note, value, x, y, shade, best}. value: of the parameter; x: its
// number on the axis; shade: from 0 for the first trial to 1 for the last.
// Its options are {x, y, axis, logY}.
class Slice extends Picture {
  pointable() { return this.shown ?? []; }
  rows() {
    return [
      ["trial", this.options.x, this.options.y, "parameters"],
      ...this.items.map((one) => [one.name, one.value, one.y, one.note])
    ];
  }

  paint(context, width, height, colour) {
    const {x: path, y: metric, axis, logY} = this.options;
    this.shown = this.items.filter((one) => Number.isFinite(one.x) && (!logY || one.y > 0));
    const ys = this.shown.map((one) => one.y);
    const near = nearRange(ys, logY);
    const y = makeScale(...rangeOf(near ?? ys, logY), logY);
    const area = areaOf(width, height);
    drawAxes(context, area, axis.scale, y, this.options, colour);
    this.places = placesOf(this.shown, area, axis.scale, y);
    for (const one of [...this.shown].sort((a, b) => a.best - b.best || a.shade - b.shade)) {
      context.beginPath();
      context.arc(...this.places.get(one), one === this.pointed ? 6.5 : one.best ? 5.5 : 4, 0, 7);
      context.fillStyle = one.best ? colour.best : shadeOf(one.shade, colour);
      context.fill();
      context.lineWidth = 0.8;
      context.strokeStyle = colour.dim;
      context.stroke();
    }
    const left = this.items.length - this.shown.length;
    return `${metric} over ${path}, ${plural(this.shown.length, "trial")}${left ? `; ${left} without a value` : ""}` +
      farWords(near, ys);
  }

  tipOf(item) {
    const place = this.places.get(item);
    const {x, y} = this.options;
    return place && {place, lines: [item.name, `${x}: ${any(item.value)}`, `${y}: ${number(item.y)}`]};
  }

  nearest(px, py) { return nearestOf(this.places, px, py); }
}

export class Slices {
  constructor({settings, keep, onOpen}) {
    Object.assign(this, {settings, keep, onOpen});
    this.slices = new Map();  // by path
    this.controls = el("div", {class: "controls"});
    this.grid = el("div", {class: "slices"});
    this.more = el("p");
    this.element = el("section", {"aria-label": "Slices"}, el("h3", {}, "Slices"), this.controls, this.grid, this.more);
    this.#drawControls();
  }

  #drawControls() {
    replace(this.controls, check("log values", this.settings.slog === "1", (on) => {
              this.settings.slog = on ? "1" : null;
              this.keep({slog: this.settings.slog});
              this.#draw();
            }), this.legend = el("span", {class: "shades dim"}));
  }

  // trials: those with a value. ofBest: whether a trial is the best. notes: returns a trial's parameters in words.
  // signature: a text that changes if what is drawn of the trials does.
  set(of) {
    this.of = of;
    this.#draw();
  }

  #draw() {
    const {trials, paths, metric, logs, ofBest, notes, signature: values} = this.of;
    this.element.hidden = trials.length < 2 || !paths.length;
    if (this.element.hidden) return;
    const signature = JSON.stringify([paths, this.settings.slices, this.settings.slog, values]);
    if (signature === this.signature) return;  // with 10,000 trials the pictures take some 100 ms
    this.signature = signature;
    const shown = this.settings.slices === "all" ? paths : paths.slice(0, SHOWN_FIRST);
    for (const [path, slice] of this.slices) {
      if (shown.includes(path)) continue;
      slice.close();
      this.slices.delete(path);
    }
    const made = shown.map((path) => this.#slice(path).element);
    if (made.some((one, i) => one !== this.grid.children[i]) || made.length !== this.grid.children.length)
      replace(this.grid, made);
    const numbers = trials.map((t) => t.trial);
    const [first, last] = [Math.min(...numbers), Math.max(...numbers)];
    const logY = this.settings.slog === "1";
    for (const path of shown) {
      const axis = axisOf(trials.map((t) => t.assignments[path]), logs.has(path));
      const items = trials.map((t) => ({
                                 key: t.id,
                                 name: t.id,
                                 note: notes(t),
                                 value: t.assignments[path],
                                 x: axis.at(t.assignments[path]),
                                 y: t.metric_value,
                                 shade: last > first ? (t.trial - first) / (last - first) : 1,
                                 best: ofBest(t)
                               }));
      this.slices.get(path).set(items, {x: path, y: metric, axis, logY});
    }
    replace(
      this.legend, `trial ${number(first)}`, el("span", {class: "ramp", "aria-hidden": "true"}), number(last),
      ...(trials.some(ofBest) ? [el("span", {class: "dot", "aria-hidden": "true"}), "best"] : []));
    this.#drawMore(paths.length);
  }

  #slice(path) {
    if (!this.slices.has(path)) this.slices.set(path, new Slice(`Slice of ${path}`, this.onOpen, "small"));
    return this.slices.get(path);
  }

  #drawMore(count) {
    const all = this.settings.slices === "all";
    const press = () => {
      this.settings.slices = all ? null : "all";
      this.keep({slices: this.settings.slices});
      this.#draw();
    };
    const words = all ? "Fewer parameters" : `All ${count} parameters`;
    replace(
      this.more,
      count > SHOWN_FIRST ? el("button", {type: "button", "data-focus": "all slices", on: {click: press}}, words) :
                            null);
  }

  close() {
    for (const slice of this.slices.values()) slice.close();
  }
}
