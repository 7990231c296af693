// trace.js: the path of a curve, the area of a band, and the values far from most others. `on` is a plot: {x, y, area,
// px(x), py(y)}.
import {lowerBound} from "./levels.js";
import {nearRange} from "./scales.js";

const SAMPLE = 4096;  // values sampled to find where most of them are
const ARROWS_MOST = 200;

// Adds points to a path. Within one column of pixels, adds the first, the smallest, the largest and the last point.
class Tracer {
  constructor(path) {
    this.path = path;
    this.dots = [];  // isolated points
    this.#start();
  }

  #start() {
    this.count = 0;  // points since the last gap
    this.column = NaN;
    this.inColumn = 0;
  }

  add(px, py) {
    const at = Math.round(px);
    if (this.count++ === 0) this.first = [px, py];
    if (at === this.column) {
      this.least = Math.min(this.least, py);
      this.largest = Math.max(this.largest, py);
      this.lastX = px;
      this.lastY = py;
      ++this.inColumn;
      return;
    }
    this.#endColumn();
    if (this.count > 1)
      this.path.lineTo(px, py);
    else
      this.path.moveTo(px, py);
    this.column = at;
    this.least = this.largest = this.lastY = py;
    this.lastX = px;
    this.inColumn = 1;
  }

  #endColumn() {
    if (this.inColumn > 1) {
      this.path.lineTo(this.lastX, this.least);
      this.path.lineTo(this.lastX, this.largest);
      this.path.lineTo(this.lastX, this.lastY);
    }
    this.inColumn = 0;
  }

  // Ends the line: what follows is not connected.
  gap() {
    this.#endColumn();
    if (this.count === 1) this.dots.push(this.first);
    this.#start();
  }
}

// Returns {path, dots} of these points.
export function traced({xs, ys}, on, path) {
  const tracer = new Tracer(path);
  for (let i = Math.max(0, lowerBound(xs, on.x.min) - 1); i < xs.length; ++i) {
    if (ys[i] !== ys[i] || !on.x.valid(xs[i])) {
      tracer.gap();
      continue;
    }
    tracer.add(on.px(xs[i]), on.py(ys[i]));
    if (xs[i] > on.x.max) break;
  }
  tracer.gap();
  return {path, dots: tracer.dots};
}

// Returns the path around the area between the values of `band`: [low, high].
export function bandOf(xs, [low, high], on, path) {
  const good = [...xs.keys()].filter((i) => on.x.valid(xs[i]) && on.y.valid(low[i]) && low[i] <= high[i]);
  const corners = [...good.map((i) => [xs[i], low[i]]), ...good.reverse().map((i) => [xs[i], high[i]])];
  corners.forEach(([x, y], i) => (i ? path.lineTo(on.px(x), on.py(y)) : path.moveTo(on.px(x), on.py(y))));
  if (corners.length) path.closePath();
  return path;
}

// Returns the range of most values if a few far values would flatten them: {low, high, lowest, highest, curves,
// arrows}. Else null. each(take) calls take(curve, x, value) with each of the `count` values.
export function outliersOf(each, count, log) {
  const sample = [];
  const every = Math.ceil(count / SAMPLE);
  let i = 0;
  let [lowest, highest] = [Infinity, -Infinity];
  each((one, x, v) => {
    if (v < lowest) lowest = v;
    if (v > highest) highest = v;
    if (i++ % every === 0) sample.push(v);
  });
  const near = nearRange([...sample, lowest, highest], log);
  if (!near) return null;
  const [low, high] = near;
  const curves = new Set();
  const arrows = [];
  each((one, x, v) => {
    if (v >= low && v <= high) return;
    curves.add(one);
    if (arrows.length < ARROWS_MOST) arrows.push([one, x, v > high]);
  });
  return {low, high, lowest, highest, curves: curves.size, arrows};
}
