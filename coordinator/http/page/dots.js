// dots.js: a scatter plot of trials, and a parallel coordinates plot with a line for each trial.
import {any, number, plural} from "./format.js";
import {areaOf, farWords, NEAR, nearestOf, onAxis, orderOf, Picture, placesOf} from "./picture.js";
import {colourOf, drawAxes, makeScale, nearRange, rangeOf} from "./scales.js";

// A scatter plot. An item is {key, name, colour, x, y}, and the options are {x, y, logX, logY}.
export class Scatter extends Picture {
  constructor(label, onOpen) { super(label, onOpen, "low"); }

  pointable() { return this.shown ?? []; }
  rows() { return [["trial", this.options.x, this.options.y], ...this.items.map((one) => [one.name, one.x, one.y])]; }

  paint(context, width, height, colour) {
    const {logX, logY} = this.options;
    const good = (v, log) => Number.isFinite(v) && (!log || v > 0);
    this.shown = this.items.filter((one) => good(one.x, logX) && good(one.y, logY));
    this.shown.sort((a, b) => a.x - b.x);
    const above = [...this.shown].sort((a, b) => orderOf(a) - orderOf(b));
    const area = areaOf(width, height);
    const x = makeScale(...rangeOf(this.shown.map((one) => one.x), logX), logX);
    const ys = this.shown.map((one) => one.y);
    const near = nearRange(ys, logY);
    const y = makeScale(...rangeOf(near ?? ys, logY), logY);
    drawAxes(context, area, x, y, this.options, colour);
    this.places = placesOf(this.shown, area, x, y);
    for (const one of above) {
      const [px, py] = this.places.get(one);
      context.beginPath();
      context.arc(px, py, one === this.pointed ? 6.5 : 4.5, 0, 7);
      context.fillStyle = colourOf(one.colour, colour);
      context.globalAlpha = one === this.pointed ? 1 : 0.8;
      context.fill();
    }
    context.globalAlpha = 1;
    const left = this.items.length - this.shown.length;
    return `${this.options.y} over ${this.options.x}, ${plural(this.shown.length, "trial")}` +
      (left ? `; ${left} ${left === 1 ? "has no value" : "have no value"}` : "") + farWords(near, ys);
  }

  tipOf(item) {
    const place = this.places.get(item);
    const {x, y} = this.options;
    return place && {place, lines: [item.name, `${x}: ${number(item.x)}`, `${y}: ${number(item.y)}`]};
  }

  nearest(px, py) { return nearestOf(this.places, px, py); }
}

function hasValue(one, axis) {
  const v = one.values[axis.name];
  return v !== null && v !== undefined && (typeof v !== "number" || Number.isFinite(v));
}

// A parallel coordinates plot. An item is {key, name, colour, values: {axis: value}}; axes: [{name, log}]. The last
// axis is the result. A line has a gap where its item has no value, as a trial has none of an inactive parameter.
export class Parallel extends Picture {
  set(items, axes) {
    const drawn = items.filter((one) => hasValue(one, axes.at(-1)));
    this.left = items.length - drawn.length;
    const valuesOn = (axis) => drawn.filter((one) => hasValue(one, axis)).map((one) => one.values[axis.name]);
    this.axes = axes.map((axis) => [axis, valuesOn(axis)])
                  .filter(([, values]) => values.length || !drawn.length)
                  .map(([axis, values]) => this.#axis(axis, values));
    this.show(drawn);
  }

  rows() {
    const names = this.axes.map((axis) => axis.name);
    return [["trial", ...names], ...this.items.map((one) => [one.name, ...names.map((name) => one.values[name])])];
  }

  #axis(axis, values) {
    if (values.every((v) => typeof v === "number")) {
      const log = axis.log && values.every((v) => v > 0);
      const near = nearRange(values, log);
      const scale = makeScale(...rangeOf(near ?? values, log), log);
      const words = farWords(near, values);
      return {
        ...axis,
        to: (v) => onAxis(scale.to(v)),
        far: words && `; ${axis.name}${words.slice(1)}`,
        ticks: scale.ticks.map((v) => [v, number(v, 4)])
      };
    }
    const words = [...new Set(values.map(any))].sort();
    const to = (v) => (words.indexOf(any(v)) + 0.5) / words.length;
    return {...axis, to, ticks: words.map((w) => [w, w.slice(0, 16)])};
  }

  #path(one) {
    const y = (axis) => (hasValue(one, axis) ? this.top + (1 - axis.to(one.values[axis.name])) * this.height : NaN);
    return this.axes.map((axis, i) => [this.xs[i], y(axis)]);
  }

  paint(context, width, height, colour) {
    [this.top, this.height] = [30, height - 44];
    const span = Math.max(10, width - 120);
    this.xs = this.axes.map((_, i) => 50 + (this.axes.length > 1 ? (i * span) / (this.axes.length - 1) : 0));
    this.paths = this.items.map((one) => this.#path(one));
    const draw = (i, strong) => {
      context.beginPath();
      let joined = false;
      for (const [x, y] of this.paths[i]) {
        const there = Number.isFinite(y);
        if (there) joined ? context.lineTo(x, y) : context.moveTo(x, y);
        joined = there;
      }
      const best = this.items[i].colour === "best";
      context.lineWidth = strong || best ? 3 : 1.2;
      context.globalAlpha = strong || best ? 1 : this.pointed ? 0.25 : 0.7;
      context.strokeStyle = colourOf(this.items[i].colour, colour);
      context.stroke();
      context.globalAlpha = 1;
    };
    for (const i of [...this.items.keys()].sort((a, b) => orderOf(this.items[a]) - orderOf(this.items[b]))) {
      if (this.items[i] !== this.pointed) draw(i, false);
    }
    const pointed = this.items.indexOf(this.pointed);
    if (pointed >= 0) draw(pointed, true);
    this.#drawAxes(context, colour);
    return `${plural(this.items.length, "trial")} over ${this.axes.map((axis) => axis.name).join(", ")}` +
      (this.left ? `; ${this.left} ${this.left === 1 ? "lacks" : "lack"} a value` : "") +
      this.axes.map((axis) => axis.far ?? "").join("");
  }

  tipOf(item) {
    const [x, y] = this.paths[this.items.indexOf(item)].at(-1);
    const lines = this.axes.map((axis) => `${axis.name}: ${any(item.values[axis.name])}`);
    return {place: [x - 160, y], lines: [item.name, ...lines]};
  }

  #drawAxes(context, colour) {
    context.font = "11px system-ui, sans-serif";
    const letters = Math.max(5, Math.floor((this.xs.length > 1 ? this.xs[1] - this.xs[0] : 200) / 7));
    const short = (name) => (name.length > letters ? `…${name.slice(1 - letters)}` : name);
    this.axes.forEach((axis, i) => {
      const x = this.xs[i];
      context.strokeStyle = colour.dim;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, this.top);
      context.lineTo(x, this.top + this.height);
      context.stroke();
      context.textAlign = i === 0 ? "left" : i + 1 === this.axes.length ? "right" : "center";
      context.textBaseline = "alphabetic";
      context.fillStyle = colour.text;
      context.fillText(short(axis.name), i === 0 ? 4 : i + 1 === this.axes.length ? x + 64 : x, 14);
      context.textAlign = "left";
      context.textBaseline = "middle";
      for (const [value, text] of axis.ticks) {
        const y = this.top + (1 - axis.to(value)) * this.height;
        const wide = context.measureText(text).width;
        context.globalAlpha = 0.75;
        context.fillStyle = colour.ground;
        context.fillRect(x + 3, y - 7, wide + 4, 14);
        context.globalAlpha = 1;
        context.fillStyle = colour.dim;
        context.fillText(text, x + 5, y);
      }
    });
  }

  nearest(px, py) {
    let best = null;
    let least = NEAR;
    (this.paths ?? []).forEach((path, n) => {
      for (let i = 0; i + 1 < path.length; ++i) {
        const [[x1, y1], [x2, y2]] = [path[i], path[i + 1]];
        if (px < x1 || px > x2) continue;
        const y = y1 + ((y2 - y1) * (px - x1)) / (x2 - x1);
        if (Math.abs(y - py) < least) [least, best] = [Math.abs(y - py), this.items[n]];
      }
    });
    return best;
  }
}
