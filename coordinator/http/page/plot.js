// plot.js: curves on a canvas: a hundred with ten thousand points each stay smooth, since a curve is drawn in as many
// points as the chart is wide (levels.js), and its path is made anew only where it or the axes have changed. Hovering
// draws on a canvas of its own above.
import {el, redrawing, replace} from "./dom.js";
import {number} from "./format.js";
import {Levels, lowerBound} from "./levels.js";
import {colourOf, colours, drawAxes, fit, makeScale, rangeOf} from "./scales.js";

const LEFT = 62, RIGHT = 12, TOP = 20, BOTTOM = 34;
const LEGEND_MOST = 12;  // curves
const MANY = 30;         // curves are drawn thin, which costs less
const NEAR = 40;         // pixels within which a curve is pointed at
const NEAR_TOUCH = 80;   // the same of a finger
const DENSE = 2;         // points a pixel, more of which nobody sees

// Exponential moving average, right from the first value on; a gap stays one.
function smoothed(ys, share) {
  if (share <= 0) return ys;
  const out = new Float64Array(ys.length);
  const fresh = 1 - share;
  let mean = 0;
  let weight = 0;
  for (let i = 0; i < ys.length; ++i) {
    const v = ys[i];
    if (v - v === 0) {  // finite
      mean = mean * share + v * fresh;
      weight = weight * share + fresh;
      out[i] = mean / weight;
    } else {
      out[i] = NaN;
    }
  }
  return out;
}

export class Plot {
  // A series is {key, name, note, xs, ys, colour (a number), dash, strong}.
  constructor({label, low = false, onPoint = null, zoom = null, onZoom = null}) {
    this.label = label;
    this.onPoint = onPoint;  // told the key of the curve that is pointed at, or null
    this.onZoom = onZoom;    // told what of x a person wants to see, or null for all
    this.series = [];
    this.options = {logX: false, logY: false, smooth: 0, x: "step", y: ""};
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
    this.legend = el("ul", {class: "legend"});
    this.caption = el("figcaption");
    this.element = el("figure", {}, this.box, this.legend, this.caption);
    this.close = redrawing(this.box, () => this.draw());
  }

  // Arrays that are the same as before are not looked at again.
  set(series, options) {
    Object.assign(this.options, options);
    const {smooth, logY} = this.options;
    const before = new Map(this.series.map((one) => [one.key, one]));
    this.series = series.map((one) => {
      const had = before.get(one.key);
      const same = had && had.xs === one.xs && had.ys === one.ys && had.logY === logY;
      if (same && had.smooth === smooth) {
        const {shown, levels, raw, path, rawPath} = had;
        return {...one, smooth, logY, shown, levels, raw, path, rawPath};
      }
      const raw = same ? had.raw : new Levels(one.xs, one.ys, logY);
      const shown = smoothed(one.ys, smooth);
      const levels = smooth > 0 ? new Levels(one.xs, shown, logY) : raw;
      return {...one, smooth, logY, shown, levels, raw, rawPath: same ? had.rawPath : null};
    });
    this.draw();
  }

  draw() {
    const {context, width, height} = fit(this.canvas);
    if (width === 0) return;
    const colour = colours(this.box);
    this.area =
      {left: LEFT, top: TOP, width: Math.max(10, width - LEFT - RIGHT), height: Math.max(10, height - TOP - BOTTOM)};
    this.#scale();
    drawAxes(context, this.area, this.x, this.y, this.options, colour);
    context.save();
    context.beginPath();
    context.rect(this.area.left, this.area.top, this.area.width, this.area.height);
    context.clip();
    context.lineJoin = "bevel";
    for (const one of this.series) {
      context.lineWidth = one.strong ? 2 : this.series.length > MANY ? 1 : 1.3;
      context.strokeStyle = colourOf(one.colour, colour.light);
      context.setLineDash(one.dash ? [5, 4] : []);
      if (one.raw !== one.levels) {
        context.globalAlpha = 0.22;
        one.rawPath = this.#path(one.raw, one.rawPath);
        context.stroke(one.rawPath.path);
        context.globalAlpha = 1;
      }
      one.path = this.#path(one.levels, one.path);
      context.stroke(one.path.path);
    }
    context.setLineDash([]);
    context.restore();
    if (this.series.every((one) => one.xs.length === 0)) {
      context.fillStyle = colour.dim;
      context.textAlign = "center";
      context.fillText("no values yet", width / 2, height / 2);
    }
    this.#drawLegend(colour);
    this.#tell();
    this.#drawOver();
  }

  // Where they are few; of many the one that is pointed at is named.
  #drawLegend(colour) {
    const drawn = this.series.filter((one) => one.xs.length);
    const few = drawn.length > 1 && drawn.length <= LEGEND_MOST ? drawn : [];
    const signature = few.map((one) => `${one.name} ${one.colour}`).join() + colour.light;
    if (signature === this.legendSignature) return;
    this.legendSignature = signature;
    replace(this.legend, few.map((one) => {
      const mark = el("span", {class: "mark", "aria-hidden": "true"});
      mark.style.background = colourOf(one.colour, colour.light);
      return el(
        "li", {
          on: {
            pointerenter: () => this.point(one.key),
            click: () => this.point(one.key),
            pointerleave: (event) => this.#leave(event)
          }
        },
        mark, el("bdi", {}, one.name));
    }));
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
    for (const one of this.series) {
      const {xs, ys} = one.levels.at(min, max, DENSE * this.area.width);
      for (let i = lowerBound(xs, min); i < xs.length && xs[i] <= max; ++i) {
        if (ys[i] < low) low = ys[i];
        if (ys[i] > high) high = ys[i];
      }
    }
    const [bottom, top] = rangeOf(low <= high ? [low, high] : [], logY);
    this.y = makeScale(bottom, top, logY);
  }

  #px(v) { return this.area.left + this.x.to(v) * this.area.width; }
  #py(v) { return this.area.top + (1 - this.y.to(v)) * this.area.height; }

  // The curve as a path, or the one that was made of the same for the same axes. Of the points of one column of pixels
  // the first, the least, the largest and the last are drawn.
  #path(levels, had) {
    const {x, y, area} = this;
    const axes = [x.min, x.max, this.options.logX, y.min, y.max, this.options.logY, area.width, area.height].join();
    if (had?.axes === axes && had.levels === levels) return had;
    const {xs, ys} = levels.at(x.min, x.max, DENSE * area.width);
    const path = new Path2D();
    let open = false;
    let column = NaN;
    let least = 0, largest = 0, last = 0, points = 0, lastX = 0;
    const flush = () => {
      if (points > 1) {
        path.lineTo(lastX, least);
        path.lineTo(lastX, largest);
        path.lineTo(lastX, last);
      }
      points = 0;
    };
    for (let i = Math.max(0, lowerBound(xs, x.min) - 1); i < xs.length; ++i) {
      const v = ys[i];
      if (v !== v || !x.valid(xs[i])) {
        flush();
        open = false;
        column = NaN;
        continue;
      }
      const px = this.#px(xs[i]);
      const py = this.#py(v);
      const at = Math.round(px);
      if (at === column) {
        if (py < least) least = py;
        if (py > largest) largest = py;
        last = py;
        lastX = px;
        ++points;
      } else {
        flush();
        if (open)
          path.lineTo(px, py);
        else
          path.moveTo(px, py);
        if (!open && i + 1 >= xs.length) path.lineTo(px + 0.5, py);
        open = true;
        column = at;
        least = largest = last = py;
        lastX = px;
        points = 1;
      }
      if (xs[i] > x.max) break;
    }
    flush();
    return {axes, levels, path};
  }

  // Which curve is nearest, and at which of its points.
  #nearest(px, py, most = NEAR) {
    let best = null;
    const at = this.x.from((px - this.area.left) / this.area.width);
    for (const one of this.series) {
      const near = lowerBound(one.xs, at);
      for (const i of [near - 1, near]) {
        if (i < 0 || i >= one.xs.length || !Number.isFinite(one.shown[i]) || !this.y.valid(one.shown[i])) continue;
        const distance = Math.hypot((this.#px(one.xs[i]) - px) / 2, this.#py(one.shown[i]) - py);
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

  // A finger leaves the glass at the end of each tap, and what it pointed at stays.
  #leave(event) {
    if (event.pointerType !== "touch") this.#point(null);
  }

  #point(found) {
    const key = found?.one.key ?? null;
    if (key !== (this.pointed?.one.key ?? null)) this.onPoint?.(key);
    this.pointed = found;
    this.#drawOver();
  }

  // Another view points at a curve, by its key.
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
    context.strokeStyle = colourOf(one.colour, colour.light);
    context.setLineDash(one.dash ? [5, 4] : []);
    context.stroke(this.#path(one.levels, one.path).path);
    context.restore();
    const [px, py] = [this.#px(one.xs[i]), this.#py(one.shown[i])];
    if (!Number.isFinite(px + py) || px < this.area.left - 1) return;
    context.beginPath();
    context.arc(px, py, 4, 0, 7);
    context.fillStyle = colourOf(one.colour, colour.light);
    context.fill();
    replace(
      this.tip, el("strong", {}, one.name), el("br"), `${this.options.x} ${number(one.xs[i])}: `,
      el("strong", {}, number(one.ys[i], 6)), one.note ? [el("br"), el("bdi", {class: "dim"}, one.note)] : null);
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

  // Shows this much of x: [from, to], or null for all.
  show(zoom) {
    this.zoom = zoom && zoom[1] > zoom[0] ? zoom : null;
    this.draw();
  }

  // By keys: arrows move along the curve, + and - zoom around the point, 0 and Escape show all.
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

  // The same in words.
  #tell() {
    const drawn = this.series.filter((one) => one.xs.length);
    let best = null;
    for (const one of drawn) {
      const last = one.ys[one.ys.length - 1];
      if (Number.isFinite(last) && (!best || last < best.last)) best = {one, last};
    }
    const words = `${this.label}: ${drawn.length} ${drawn.length === 1 ? "curve" : "curves"}` +
      (best && drawn.length > 1 ? `; the lowest now is ${number(best.last)}, of ${best.one.name}` :
         best ? `; now ${number(best.last)}` :
                "");
    this.over.setAttribute("aria-label", `${words}. Arrow keys go along the curves, plus and minus zoom, 0 shows all.`);
    this.caption.textContent = this.zoom ? `${words} · zoomed: double click or 0 shows all` : words;
  }
}

// What of x is shown, as the address has it: "120~480"; null for all, and for what names no range.
export function zoomOf(text) {
  const [from, to] = (text ?? "").split("~").map(Number.parseFloat);
  return from >= 0 && from < to && to < Infinity ? [from, to] : null;
}
export function textOfZoom(zoom) { return zoom && zoom.map((v) => Number(v.toPrecision(9))).join("~"); }

// Arrays of a curve of the API as a series'; those of before where they are the same.
export function seriesOf(curve, before) {
  const xs = Float64Array.from(curve?.steps ?? []);
  const ys = Float64Array.from(curve?.values ?? [], (v) => v ?? NaN);
  const same = before && before.xs.length === xs.length && xs.every((x, i) => x === before.xs[i]) &&
    ys.every((y, i) => Object.is(y, before.ys[i]));
  return same ? {xs: before.xs, ys: before.ys} : {xs, ys};
}
