// dots.js: a scatter plot of trials, and a parallel coordinates plot with a line for each trial. Both point at a trial
// and link to it.
import {el, redrawing, replace} from "./dom.js";
import {any, number, plural} from "./format.js";
import {colourOf, colours, drawAxes, fit, makeScale, nearRange, rangeOf} from "./scales.js";

const NEAR = 24;
// Drawing order by rank: the best on top.
const orderOf = (item) => ["rest", "good", "best"].indexOf(item.colour);

// Clamps a value far from the others to the axis' end.
const onAxis = (place) => Math.max(0, Math.min(1, place));
function farWords(near, values) {
  const far = near ? values.filter((v) => v < near[0] || v > near[1]) : [];
  if (!far.length) return "";
  const [least, most] = [Math.min(...far), Math.max(...far)];
  return `; ${far.length} ${far.length === 1 ? "outlier" : "outliers"} at the edge, ${
    least === most ? `at ${number(least)}` : `from ${number(least)} to ${number(most)}`}`;
}

// A canvas that is redrawn when its size or the theme changes, with a tip for the item under the pointer.
class Picture {
  constructor(label, onOpen, low) {
    this.label = label;
    this.onOpen = onOpen;
    this.items = [];
    this.pointed = null;
    this.before = undefined;  // the item pointed at before a finger came down; undefined: a mouse
    this.canvas = el("canvas", {
      class: "over",
      role: "img",
      "aria-label": label,
      tabindex: 0,
      on: {
        pointermove: (event) => this.#point(this.#at(event)),
        pointerdown: (event) => {
          this.before = event.pointerType === "touch" ? this.pointed : undefined;
        },
        pointerleave: (event) => {
          if (event.pointerType !== "touch") this.#point(null);
        },
        click: (event) => this.#click(this.#at(event)),
        keydown: (event) => this.#key(event),
      }
    });
    this.tip = el("div", {class: "tip", hidden: true});
    this.box = el("div", {class: low ? "plot low" : "plot"}, this.canvas, this.tip);
    this.caption = el("figcaption");
    this.element = el("figure", {}, this.box, this.caption);
    this.close = redrawing(this.box, () => this.draw());
  }

  #at(event) {
    const rect = this.canvas.getBoundingClientRect();
    return this.nearest(event.clientX - rect.left, event.clientY - rect.top);
  }

  // With a finger, the first tap points at an item and the second opens it.
  #click(item) {
    if (item && (this.before === undefined || this.before === item))
      this.onOpen(item);
    else
      this.#point(item);
  }

  #point(item) {
    if (item === this.pointed) return;
    this.pointed = item;
    this.draw();
  }

  #key(event) {
    const list = this.pointable();
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (step && list.length) {
      this.#point(list[(list.indexOf(this.pointed) + step + list.length) % list.length]);
      event.preventDefault();
    } else if (event.key === "Enter" && this.pointed) {
      this.onOpen(this.pointed);
    }
  }

  showTip(x, y, lines) {
    replace(this.tip, lines.map((line, i) => (i ? [el("br"), el("bdi", {}, line)] : el("strong", {}, line))));
    this.tip.hidden = false;
    const {clientWidth, clientHeight} = this.box;
    this.tip.style.left = `${Math.max(4, Math.min(x + 12, clientWidth - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${Math.max(4, Math.min(y + 12, clientHeight - this.tip.offsetHeight - 4))}px`;
  }

  say(words) {
    const ranks = new Set(this.pointable().map((one) => one.colour));
    const names = [["best", "orange: best"], ["good", "blue: best quarter"], ["rest", "grey: others"]];
    const told =
      ranks.has("best") && ranks.size > 1 ? names.filter(([rank]) => ranks.has(rank)).map(([, name]) => name) : [];
    this.caption.textContent = [words, ...told].join("; ");
    this.canvas.setAttribute("aria-label", `${this.label}: ${words}. Arrow keys select a trial, Enter opens it.`);
  }
}

// A scatter plot. An item is {key, name, colour, x, y}.
export class Scatter extends Picture {
  constructor(label, onOpen) { super(label, onOpen, true); }

  set(items, options) {  // {x, y, logX, logY}
    this.items = items;
    this.options = options;
    if (this.pointed) this.pointed = items.find((one) => one.key === this.pointed.key) ?? null;
    this.draw();
  }

  pointable() { return this.shown ?? []; }

  draw() {
    this.tip.hidden = true;
    if (!this.options) return;
    const {context, width, height} = fit(this.canvas);
    if (width === 0) return;
    const colour = colours(this.box);
    const {logX, logY} = this.options;
    const good = (v, log) => Number.isFinite(v) && (!log || v > 0);
    this.shown = this.items.filter((one) => good(one.x, logX) && good(one.y, logY));
    this.shown.sort((a, b) => a.x - b.x);
    const above = [...this.shown.keys()].sort((a, b) => orderOf(this.shown[a]) - orderOf(this.shown[b]));
    const area = {left: 62, top: 20, width: Math.max(10, width - 78), height: Math.max(10, height - 54)};
    const x = makeScale(...rangeOf(this.shown.map((one) => one.x), logX), logX);
    const ys = this.shown.map((one) => one.y);
    const near = nearRange(ys, logY);
    const y = makeScale(...rangeOf(near ?? ys, logY), logY);
    drawAxes(context, area, x, y, this.options, colour);
    this.places = this.shown.map(
      (one) => [area.left + x.to(one.x) * area.width, area.top + (1 - onAxis(y.to(one.y))) * area.height]);
    above.forEach((i) => {
      const one = this.shown[i];
      const [px, py] = this.places[i];
      context.beginPath();
      context.arc(px, py, one === this.pointed ? 6.5 : 4.5, 0, 7);
      context.fillStyle = colourOf(one.colour, colour);
      context.globalAlpha = one === this.pointed ? 1 : 0.8;
      context.fill();
    });
    context.globalAlpha = 1;
    const left = this.items.length - this.shown.length;
    this.say(
      `${this.options.y} over ${this.options.x}, ${plural(this.shown.length, "trial")}` +
      (left ? `; ${left} ${left === 1 ? "has no value" : "have no value"}` : "") + farWords(near, ys));
    const i = this.shown.indexOf(this.pointed);
    if (i >= 0) {
      this.showTip(...this.places[i], [
        this.pointed.name, `${this.options.x}: ${number(this.pointed.x)}`,
        `${this.options.y}: ${number(this.pointed.y)}`
      ]);
    }
  }

  nearest(px, py) {
    let best = null;
    let least = NEAR;
    (this.places ?? []).forEach(([x, y], i) => {
      const distance = Math.hypot(x - px, y - py);
      if (distance < least) [least, best] = [distance, this.shown[i]];
    });
    return best;
  }
}

// A parallel coordinates plot. An item is {key, name, colour, values: {axis: value}}; axes: [{name, log}]. The last
// axis is the result.
export class Parallel extends Picture {
  set(items, axes) {
    this.items = items.filter((one) => axes.every((axis) => {
      const v = one.values[axis.name];
      return v !== null && v !== undefined && (typeof v !== "number" || Number.isFinite(v));
    }));
    this.left = items.length - this.items.length;
    this.axes = axes.map((axis) => this.#axis(axis));
    if (this.pointed) this.pointed = this.items.find((one) => one.key === this.pointed.key) ?? null;
    this.draw();
  }

  pointable() { return this.items; }

  #axis(axis) {
    const values = this.items.map((one) => one.values[axis.name]);
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
    return this.axes.map((axis, i) => [this.xs[i], this.top + (1 - axis.to(one.values[axis.name])) * this.height]);
  }

  draw() {
    this.tip.hidden = true;
    if (!this.axes) return;
    const {context, width, height} = fit(this.canvas);
    if (width === 0) return;
    const colour = colours(this.box);
    [this.top, this.height] = [30, height - 44];
    const span = Math.max(10, width - 120);
    this.xs = this.axes.map((_, i) => 50 + (this.axes.length > 1 ? (i * span) / (this.axes.length - 1) : 0));
    this.paths = this.items.map((one) => this.#path(one));
    const draw = (i, strong) => {
      context.beginPath();
      this.paths[i].forEach(([x, y], n) => (n ? context.lineTo(x, y) : context.moveTo(x, y)));
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
    this.say(
      `${plural(this.items.length, "trial")} over ${this.axes.map((axis) => axis.name).join(", ")}` +
      (this.left ? `; ${this.left} ${this.left === 1 ? "lacks" : "lack"} a value` : "") +
      this.axes.map((axis) => axis.far ?? "").join(""));
    if (pointed >= 0) {
      const [x, y] = this.paths[pointed].at(-1);
      this.showTip(
        x - 160, y,
        [this.pointed.name, ...this.axes.map((axis) => `${axis.name}: ${any(this.pointed.values[axis.name])}`)]);
    }
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
