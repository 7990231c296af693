// plot.js: curves on a canvas. A hundred curves with ten thousand points each stay smooth: a curve is drawn with as
// many points as the chart is wide (levels.js), and its path is rebuilt only if it or the axes changed. A second canvas
// above shows the pointer.
import {el, redrawing, replace} from "./dom.js";
import {number, plural} from "./format.js";
import {Legend} from "./legend.js";
import {Levels, lowerBound} from "./levels.js";
import {saveButtons, toSvg} from "./save.js";
import {colourOf, colours, dashesOf, drawAxes, fit, makeScale, rangeOf} from "./scales.js";
import {smoothed} from "./series.js";
import {bandOf, outliersOf, traced} from "./trace.js";

const LEFT = 62, RIGHT = 12, TOP = 20, BOTTOM = 34;
const MANY = 30;        // from this many on, curves are drawn thin, which costs less
const NEAR = 40;        // pixels within which the pointer finds a curve
const NEAR_TOUCH = 80;  // the same for a finger
const DENSE = 2;        // points for each pixel; more are invisible
const DOT = 3;          // radius of an isolated point
const BAND = 0.18;      // opacity of the range of a group
const BELOW = {
  rest: 0,
  good: 1,
  best: 3
};  // drawing order; others 2

export class Plot {
  // A series is {key, name, note, short, xs, ys, colour (as in colourOf), strong}. That of a group of trials also has
  // the range of their values at each x: {low, high, trials}. `far`: shows values far from most
  // others although they flatten the rest; `onFar` is called when a person changes that.
  // `legend`: whether names are shown below.
  constructor(
    {label, low = false, legend = true, onPoint = null, zoom = null, onZoom = null, far = false, onFar = null}) {
    this.label = label;
    this.far = far;
    this.onFar = onFar;
    this.onPoint = onPoint;  // called with the key of the curve pointed at, or null
    this.onZoom = onZoom;    // called with the wanted range of x, or null for all
    this.series = [];
    this.options = {logX: false, logY: false, smooth: 0, x: "step", y: "", goal: null, empty: "no values yet"};
    this.zoom = zoom;  // [from, to] of x
    this.canvas = el("canvas", {"aria-hidden": "true"});
    this.over = el("canvas", {
      class: "over",
      tabindex: 0,
      role: "img",
      "aria-label": label,
      on: {
        pointermove: (event) => this.#move(event),
        pointerleave: (event) => this.#leave(event),
        pointerdown: (event) => this.#down(event),
        pointerup: (event) => this.#up(event),
        pointercancel: () => {
          this.drag = null;
          this.#drawOver();
        },
        dblclick: () => this.#setZoom(null),
        keydown: (event) => this.#key(event),
      }
    });
    this.tip = el("div", {class: "tip", hidden: true});
    this.box = el("div", {class: low ? "plot low" : "plot"}, this.canvas, this.over, this.tip);
    this.legend = new Legend({point: (key) => this.point(key), leave: (event) => this.#leave(event)});
    this.caption = el("figcaption");
    this.outside = el("p", {class: "dim outside", hidden: true});
    this.element = el(
      "figure", {}, this.box, this.outside, legend ? this.legend.element : null, this.caption,
      saveButtons(label, this));
    this.close = redrawing(this.box, () => this.draw());
  }

  // Arrays that are the same objects as before are not read again.
  set(series, options) {
    Object.assign(this.options, options);
    const {smooth, logY} = this.options;
    const before = new Map(this.series.map((one) => [one.key, one]));
    this.series = series.map((one) => {
      const had = before.get(one.key);
      const same = had && had.xs === one.xs && had.ys === one.ys && had.logY === logY;
      if (same && had.smooth === smooth) {
        const {shown, levels, raw, band, path, rawPath} = had;
        return {...one, smooth, logY, shown, levels, raw, band, path, rawPath};
      }
      const raw = same ? had.raw : new Levels(one.xs, one.ys, logY);
      const shown = smoothed(one.ys, smooth);
      const levels = smooth > 0 ? new Levels(one.xs, shown, logY) : raw;
      const band = one.low && [smoothed(one.low, smooth), smoothed(one.high, smooth)];
      return {...one, smooth, logY, shown, levels, raw, band, rawPath: same ? had.rawPath : null};
    });
    this.draw();
  }

  draw() {
    const {context, width, height} = fit(this.canvas);
    if (width === 0) return;
    const colour = colours(this.box);
    this.#measure(width, height);
    this.#paint(context, width, height, colour);
    this.legend.draw(this.series.filter((one) => one.xs.length), colour);
    this.#tellOutside();
    this.#tell();
    this.#drawOver();
  }

  #measure(width, height) {
    this.area =
      {left: LEFT, top: TOP, width: Math.max(10, width - LEFT - RIGHT), height: Math.max(10, height - TOP - BOTTOM)};
    this.#scale();
  }

  // Draws everything but the pointer. `vector`: makes a path for a drawing that is no canvas.
  #paint(context, width, height, colour, vector = null) {
    drawAxes(context, this.area, this.x, this.y, this.options, colour);
    context.save();
    context.beginPath();
    context.rect(this.area.left, this.area.top, this.area.width, this.area.height);
    context.clip();
    context.lineJoin = "bevel";
    const order = (one) => BELOW[one.colour] ?? 2;
    const sorted = [...this.series].sort((a, b) => order(a) - order(b));
    for (const one of sorted) this.#drawBand(context, one, colour, vector ? vector() : new Path2D());
    for (const one of sorted) this.#drawCurve(context, one, colour, vector);
    context.setLineDash([]);
    context.restore();
    if (this.left) this.#drawArrows(context, colour);
    if (this.series.every((one) => one.xs.length === 0)) {
      context.fillStyle = colour.dim;
      context.textAlign = "center";
      context.fillText(this.options.empty, width / 2, height / 2);
    }
  }

  #drawBand(context, one, colour, path) {
    if (!one.band) return;
    context.globalAlpha = BAND;
    context.fillStyle = colourOf(one.colour, colour);
    context.fill(bandOf(one.xs, one.band, this, path));
    context.globalAlpha = 1;
  }

  #drawCurve(context, one, colour, vector) {
    const path = (levels, had) => (vector ? this.#trace(levels, vector()) : this.#path(levels, had));
    context.lineWidth = one.strong ? 2 : this.series.length > MANY ? 1 : 1.3;
    context.strokeStyle = context.fillStyle = colourOf(one.colour, colour);
    context.setLineDash(dashesOf(one.colour));
    if (one.raw !== one.levels) {
      context.globalAlpha = 0.22;
      const faint = path(one.raw, one.rawPath);
      if (!vector) one.rawPath = faint;
      context.stroke(faint.path);
      context.globalAlpha = 1;
    }
    const line = path(one.levels, one.path);
    if (!vector) one.path = line;
    context.stroke(line.path);
    this.#drawDots(context, line.dots, one.strong ? DOT + 1 : DOT);
  }

  // Returns the chart as an SVG file, with its legend.
  svg() {
    const {clientWidth: width, clientHeight: height} = this.box;
    const colour = colours(this.box);
    const drawn = this.series.filter((one) => one.xs.length);
    const legend = drawn.map((one) => [colourOf(one.colour, colour), [one.name, one.short].filter(Boolean).join("  ")]);
    const paint = (context) => this.#paint(context, width, height, colour, () => context.path());
    return toSvg({width, height, colour, title: this.caption.textContent, legend, paint});
  }

  // Returns all values as rows of a table, the head first.
  rows() {
    const {x, y} = this.options;
    const grouped = this.series.some((one) => one.low);
    const rows =
      [grouped ? ["group", "trials", x, `mean ${y}`, `lowest ${y}`, `highest ${y}`] : ["curve", "note", x, y]];
    for (const one of this.series) {
      one.xs.forEach((at, i) => rows.push(grouped ? [one.name, one.trials, at, one.ys[i], one.low[i], one.high[i]] : [
        one.name, one.note, at, one.ys[i]
      ]));
    }
    return rows;
  }

  // Draws isolated points: a curve may be one evaluation.
  #drawDots(context, dots, radius) {
    for (const [x, y] of dots) {
      context.beginPath();
      context.arc(x, y, radius, 0, 7);
      context.fill();
    }
  }

  // Draws arrows at the edge where a curve has values beyond it.
  #drawArrows(context, colour) {
    const {top, height} = this.area;
    for (const [one, x, above] of this.left.arrows) {
      const [tip, base] = above ? [top, top + 6] : [top + height, top + height - 6];
      const px = this.px(x);
      context.beginPath();
      context.moveTo(px, tip);
      context.lineTo(px - 4, base);
      context.lineTo(px + 4, base);
      context.fillStyle = colourOf(one.colour, colour);
      context.fill();
    }
  }

  #tellOutside() {
    this.outside.hidden = !this.left && !this.far;
    if (this.outside.hidden) return;
    let words = "Outliers are shown. ";
    if (this.left) {
      const {low, high, curves, lowest, highest} = this.left;
      const ends = [lowest < low ? `down to ${number(lowest)}` : "", highest > high ? `up to ${number(highest)}` : ""];
      words = `Outliers of ${plural(curves, "curve")} are hidden: ${ends.filter(Boolean).join(" and ")}. `;
    }
    const toggle = () => {
      this.far = !this.far;
      this.onFar?.(this.far);
      this.draw();
    };
    replace(
      this.outside, words,
      el(
        "button", {type: "button", "data-focus": `far ${this.label}`, on: {click: toggle}},
        this.left ? "Show all values" : "Hide outliers"));
  }

  #scale() {
    const {logX, logY} = this.options;
    let [min, max] = this.zoom ?? [Infinity, -Infinity];
    if (!this.zoom) {
      for (const one of this.series) {
        const first = logX ? lowerBound(one.xs, 1) : 0;
        if (first >= one.xs.length) continue;
        min = Math.min(min, one.xs[first]);
        max = Math.max(max, one.xs[one.xs.length - 1]);
      }
      if (min > max) [min, max] = [logX ? 1 : 0, 10];
    }
    if (logX) min = Math.max(1, min);
    if (min >= max) max = min + 1;
    this.x = makeScale(min, max, logX);
    let low = Infinity;
    let high = -Infinity;
    let count = 0;
    this.#eachShown(min, max, (one, x, v) => {
      if (v < low) low = v;
      if (v > high) high = v;
      ++count;
    });
    this.left = this.far || !count ? null : outliersOf((take) => this.#eachShown(min, max, take), count, logY);
    const ends = this.left ? [this.left.low, this.left.high] : low <= high ? [low, high] : [];
    const [bottom, top] = rangeOf(ends, logY);
    this.y = makeScale(bottom, top, logY);
  }

  // Calls `take` with each drawn value between `min` and `max` of x.
  #eachShown(min, max, take) {
    for (const one of this.series) {
      const {xs, ys} = one.levels.at(min, max, DENSE * this.area.width);
      for (let i = lowerBound(xs, min); i < xs.length && xs[i] <= max; ++i) {
        if (ys[i] === ys[i]) take(one, xs[i], ys[i]);
      }
      if (!one.band) continue;
      for (let i = lowerBound(one.xs, min); i < one.xs.length && one.xs[i] <= max; ++i) {
        for (const side of one.band)
          if (this.options.logY ? side[i] > 0 : side[i] === side[i]) take(one, one.xs[i], side[i]);
      }
    }
  }

  px(v) { return this.area.left + this.x.to(v) * this.area.width; }
  py(v) { return this.area.top + (1 - this.y.to(v)) * this.area.height; }

  // Returns the curve's path, or `had` if its levels and axes are the same.
  #path(levels, had) {
    const {x, y, area} = this;
    const axes = [x.min, x.max, this.options.logX, y.min, y.max, this.options.logY, area.width, area.height].join();
    if (had?.axes === axes && had.levels === levels) return had;
    return {axes, levels, ...this.#trace(levels, new Path2D())};
  }
  #trace(levels, path) { return traced(levels.at(this.x.min, this.x.max, DENSE * this.area.width), this, path); }

  // Returns the nearest curve and the index of its nearest point.
  #nearest(px, py, most = NEAR) {
    let best = null;
    const at = this.x.from((px - this.area.left) / this.area.width);
    for (const one of this.series) {
      const near = lowerBound(one.xs, at);
      for (const i of [near - 1, near]) {
        if (i < 0 || i >= one.xs.length || !Number.isFinite(one.shown[i]) || !this.y.valid(one.shown[i])) continue;
        const distance = Math.hypot((this.px(one.xs[i]) - px) / 2, this.py(one.shown[i]) - py);
        if (distance < most && (!best || distance < best.distance)) best = {one, i, distance};
      }
    }
    return best;
  }

  #where(event) {
    const rect = this.over.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  }

  #move(event) {
    const [px, py] = this.#where(event);
    if (this.drag) {
      this.drag.to = px;
      this.#drawOver();
      return;
    }
    this.#point(this.#nearest(px, py));
  }

  // A finger leaves the screen after each tap; its selection stays.
  #leave(event) {
    if (event.pointerType !== "touch") this.#point(null);
  }

  #point(found) {
    const key = found?.one.key ?? null;
    if (key !== (this.pointed?.one.key ?? null)) this.onPoint?.(key);
    this.pointed = found;
    this.#drawOver();
  }

  // Highlights a curve by its key, for another view.
  point(key) {
    const one = this.series.find((each) => each.key === key);
    this.pointed = one && one.xs.length ? {one, i: one.xs.length - 1} : null;
    this.#drawOver();
  }

  #drawOver() {
    const {context, height} = fit(this.over);
    this.tip.hidden = true;
    if (!this.area) return;
    const colour = colours(this.box);
    if (this.drag && Math.abs(this.drag.to - this.drag.from) > 3) {
      context.globalAlpha = 0.2;
      context.fillStyle = colour.accent;
      context.fillRect(
        Math.min(this.drag.from, this.drag.to), this.area.top, Math.abs(this.drag.to - this.drag.from),
        this.area.height);
      context.globalAlpha = 1;
      return;
    }
    const found = this.pointed;
    const one = found && this.series.find((each) => each.key === found.one.key);
    if (!one || !one.xs.length) return;
    const i = Math.min(found.i, one.xs.length - 1);
    context.save();
    context.beginPath();
    context.rect(this.area.left, this.area.top, this.area.width, this.area.height);
    context.clip();
    context.lineWidth = 2.6;
    context.strokeStyle = context.fillStyle = colourOf(one.colour, colour);
    context.setLineDash(dashesOf(one.colour));
    const {path, dots} = this.#path(one.levels, one.path);
    context.stroke(path);
    this.#drawDots(context, dots, DOT + 2);
    context.restore();
    const px = this.px(one.xs[i]);
    const py = Math.max(this.area.top, Math.min(this.area.top + this.area.height, this.py(one.shown[i])));
    if (!Number.isFinite(px + py) || px < this.area.left - 1) return;
    context.beginPath();
    context.arc(px, py, 4, 0, 7);
    context.fillStyle = colourOf(one.colour, colour);
    context.fill();
    replace(
      this.tip, el("strong", {}, one.name), el("br"), `${this.options.x} ${number(one.xs[i])}: `,
      el("strong", {}, number(one.ys[i], 6)), one.low ? `, from ${number(one.low[i])} to ${number(one.high[i])}` : "",
      one.note ? [el("br"), el("bdi", {class: "dim"}, one.note)] : null);
    this.tip.hidden = false;
    const left = Math.min(px + 12, this.area.left + this.area.width - this.tip.offsetWidth);
    this.tip.style.left = `${Math.max(4, left)}px`;
    this.tip.style.top =
      `${py + 14 + this.tip.offsetHeight < height ? py + 14 : Math.max(2, py - 14 - this.tip.offsetHeight)}px`;
  }

  #down(event) {
    if (event.button !== 0) return;
    const [px] = this.#where(event);
    this.drag = {from: px, to: px};
    this.over.setPointerCapture(event.pointerId);
  }

  #up(event) {
    const drag = this.drag;
    this.drag = null;
    if (drag && Math.abs(drag.to - drag.from) > 6) {
      const at = (px) => this.x.from(Math.max(0, Math.min(1, (px - this.area.left) / this.area.width)));
      this.#setZoom([Math.min(at(drag.from), at(drag.to)), Math.max(at(drag.from), at(drag.to))]);
    } else if (event.pointerType === "touch") {
      this.#point(this.#nearest(...this.#where(event), NEAR_TOUCH));
    } else {
      this.#drawOver();
    }
  }

  #setZoom(zoom) {
    this.show(zoom);
    this.onZoom?.(this.zoom);
  }

  // Shows this range of x: [from, to], or null for all.
  show(zoom) {
    this.zoom = zoom && zoom[1] > zoom[0] ? zoom : null;
    this.draw();
  }

  // Handles keys: arrows move along the curve, + and - zoom around the point, 0 and Escape show all.
  #key(event) {
    const {key} = event;
    const step = key === "ArrowLeft" ? -1 : key === "ArrowRight" ? 1 : 0;
    const other = key === "ArrowUp" ? -1 : key === "ArrowDown" ? 1 : 0;
    const drawn = this.series.filter((one) => one.xs.length);
    if (!drawn.length) return;
    if (step || other) {
      let index = Math.max(0, drawn.findIndex((one) => one.key === this.pointed?.one.key));
      index = (index + other + drawn.length) % drawn.length;
      const one = drawn[index];
      const i = Math.max(0, Math.min(one.xs.length - 1, (this.pointed?.i ?? one.xs.length - 1) + step));
      this.#point({one, i});
    } else if (key === "+" || key === "-") {
      const middle = this.pointed ? this.pointed.one.xs[this.pointed.i] : (this.x.min + this.x.max) / 2;
      const half = ((this.x.max - this.x.min) / 2) * (key === "+" ? 0.5 : 2);
      this.#setZoom([Math.max(this.options.logX ? 1 : 0, middle - half), middle + half]);
    } else if (key === "0" || key === "Escape") {
      this.#setZoom(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  // Describes the chart in words. Names the better direction if it is known.
  #tell() {
    const newest =
      this.series.filter((one) => one.xs.length).map((one) => ({name: one.name, value: one.ys[one.ys.length - 1]}));
    const sorted = newest.filter((one) => Number.isFinite(one.value)).sort((a, b) => a.value - b.value);
    let words = `${this.label}: ${plural(newest.length, this.series.some((one) => one.low) ? "group" : "curve")}`;
    const of = (one) => `${number(one.value)}, of ${one.name}`;
    if (sorted.length && newest.length === 1)
      words += `; now ${number(sorted[0].value)}`;
    else if (sorted.length && this.options.goal === "maximize")
      words += `; the highest now is ${of(sorted.find((one) => one.value === sorted.at(-1).value))}`;
    else if (sorted.length && this.options.goal === "minimize")
      words += `; the lowest now is ${of(sorted[0])}`;
    else if (sorted.length)
      words += `; now from ${of(sorted[0])}, to ${of(sorted.at(-1))}`;
    const none = this.series.filter((one) => one.xs.length && !one.ys.some(Number.isFinite)).length;
    if (none) words += none === newest.length ? "; no value is a number" : `; ${none} without a number`;
    this.over.setAttribute("aria-label", `${words}. Arrow keys go along the curves, plus and minus zoom, 0 shows all.`);
    this.caption.textContent = this.zoom ? `${words} · zoomed: double click or 0 shows all` : words;
  }
}
