// contour.js: the search metric over two parameters: a field between the trials (field.js) in bands, and the trials.
import {choice, el, refreshControls} from "./dom.js";
import {fieldOf, POINTS_MOST, traceArea} from "./field.js";
import {any, number, plural} from "./format.js";
import {axisOf} from "./parameters.js";
import {farWords, nearestOf, Picture, placesOf} from "./picture.js";
import {drawAxes, nearRange, rangeOf, shadeOf, ticks} from "./scales.js";

const BAR = 12;          // pixels, of the width of the colours' bar
const BAR_ROOM = 76;     // with its numbers
const TRIALS_LEAST = 4;  // fewer make no field

// Returns the levels between the bands of these values: round numbers.
export function levelsOf(values) {
  const [min, max] = rangeOf(values, false);
  return ticks(min, max, 8).filter((v) => v > Math.min(...values) && v < Math.max(...values));
}

// The drawing. An item is {key, name, note, xValue, yValue, x, y, value, best}; x and y: numbers on the axes.
class Drawing extends Picture {
  set(items, options) {  // {x, y, metric, axes, sign}
    this.options = options;
    const [across, up] = options.axes;
    const values = items.map((one) => one.value);
    const [least, most] = this.near = nearRange(values, false) ?? [-Infinity, Infinity];
    const points = items.map(
      (one) => ({x: across.scale.to(one.x), y: up.scale.to(one.y), value: Math.max(least, Math.min(most, one.value))}));
    this.field = items.length >= TRIALS_LEAST ? fieldOf(points) : null;
    this.levels = this.field ? levelsOf(points.map((one) => one.value)) : [];
    this.show(items);
  }

  rows() {
    const {x, y, metric} = this.options;
    return [
      ["trial", x, y, metric, "parameters"],
      ...this.items.map((one) => [one.name, one.xValue, one.yValue, one.value, one.note])
    ];
  }

  #bandColour(band, colour) {
    const bands = this.levels.length;
    const share = bands ? band / bands : 1;
    return shadeOf(this.options.sign < 0 ? share : 1 - share, colour);
  }

  paint(context, width, height, colour) {
    const {x, y, metric, axes: [across, up]} = this.options;
    const area = {left: 62, top: 20, width: Math.max(10, width - 62 - BAR_ROOM), height: Math.max(10, height - 54)};
    drawAxes(context, area, across.scale, up.scale, {x, y}, colour);
    if (this.field) this.#paintField(context, area, colour);
    if (this.levels.length) this.#paintBar(context, area, width, colour);
    this.places = placesOf(this.items, area, across.scale, up.scale);
    for (const one of [...this.items].sort((a, b) => a.best - b.best)) {
      context.beginPath();
      context.arc(...this.places.get(one), one === this.pointed ? 6.5 : one.best ? 5.5 : 3, 0, 7);
      context.fillStyle = one.best ? colour.best : colour.text;
      context.fill();
      context.lineWidth = 1;
      context.strokeStyle = colour.ground;
      context.stroke();
    }
    const thin = this.items.length > POINTS_MOST ?
      `; the field is of every ${Math.ceil(this.items.length / POINTS_MOST)}th trial` :
      "";
    return `${metric} over ${x} and ${y}, ${plural(this.items.length, "trial")}; ` +
      (this.field ? `full blue: better; orange: best; between trials: their mean by distance${thin}` :
                    `${TRIALS_LEAST} trials make a field`) +
      (Number.isFinite(this.near[0]) ? farWords(this.near, this.items.map((one) => one.value)) : "");
  }

  #paintField(context, area, colour) {
    const place = (across, up) => [area.left + across * area.width, area.top + (1 - up) * area.height];
    [-Infinity, ...this.levels].forEach((level, band) => {
      const path = context.path?.() ?? new Path2D();
      traceArea(this.field, level, place, path);
      context.fillStyle = this.#bandColour(band, colour);
      context.fill(path);
    });
  }

  // Draws the colours of the bands with the levels between them.
  #paintBar(context, area, width, colour) {
    const left = width - BAR_ROOM + 14;
    const bands = this.levels.length + 1;
    const tall = area.height / bands;
    context.textAlign = "left";
    context.textBaseline = "middle";
    for (let band = 0; band < bands; ++band) {
      const top = area.top + area.height - (band + 1) * tall;
      context.fillStyle = this.#bandColour(band, colour);
      context.fillRect(left, top, BAR, tall);
      context.fillStyle = colour.dim;
      if (band < this.levels.length) context.fillText(number(this.levels[band], 3), left + BAR + 4, top);
    }
    context.fillStyle = colour.text;
    context.textAlign = "right";
    context.textBaseline = "top";
    context.fillText(this.options.metric, width - 6, 3);
  }

  tipOf(item) {
    const place = this.places.get(item);
    const {x, y, metric} = this.options;
    return place && {
      place,
      lines: [item.name, `${x}: ${any(item.xValue)}`, `${y}: ${any(item.yValue)}`, `${metric}: ${number(item.value)}`]
    };
  }

  nearest(px, py) { return nearestOf(this.places, px, py); }
}

export class Contour {
  constructor({settings, keep, onOpen}) {
    Object.assign(this, {settings, keep});
    this.drawing = new Drawing("Contour", onOpen);
    this.controls = el("div", {class: "controls"});
    this.element =
      el("section", {"aria-label": "Contour"}, el("h3", {}, "Contour"), this.controls, this.drawing.element);
  }

  // As Slices.set().
  set(of) {
    this.of = of;
    this.#draw();
  }

  #draw() {
    const {trials, paths, metric, logs, ofBest, notes, sign, signature: values} = this.of;
    this.element.hidden = trials.length < 2 || paths.length < 2;
    if (this.element.hidden) return;
    const x = paths.includes(this.settings.cx) ? this.settings.cx : paths[0];
    const others = paths.filter((path) => path !== x);
    const y = others.includes(this.settings.cy) ? this.settings.cy : others[0];
    this.#drawControls(paths, others, x, y);
    const both = trials.filter((t) => t.assignments[x] !== undefined && t.assignments[y] !== undefined);
    const signature = JSON.stringify([x, y, values]);
    if (signature === this.signature) return;  // a field costs some milliseconds
    this.signature = signature;
    const axes = [x, y].map((path) => axisOf(both.map((t) => t.assignments[path]), logs.has(path)));
    const items = both.map((t) => ({
                             key: t.id,
                             name: t.id,
                             note: notes(t),
                             xValue: t.assignments[x],
                             yValue: t.assignments[y],
                             x: axes[0].at(t.assignments[x]),
                             y: axes[1].at(t.assignments[y]),
                             value: t.metric_value,
                             best: ofBest(t)
                           }));
    this.drawing.set(
      items.filter((one) => Number.isFinite(one.x) && Number.isFinite(one.y)), {x, y, metric, axes, sign});
  }

  #drawControls(paths, others, x, y) {
    const set = (change) => {
      Object.assign(this.settings, change);
      this.keep(change);
      this.#draw();
    };
    refreshControls(
      this.controls, [paths, x, y],
      () =>
        [choice("X parameter", paths, x, (path) => set({cx: path, ...(path === y ? {cy: x} : {})})),
         choice("Y parameter", others, y, (path) => set({cy: path}))]);
  }

  close() { this.drawing.close(); }
}
