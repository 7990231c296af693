// scales.js: maps numbers to places on an axis and back, chooses ticks, and draws the axes.
import {number} from "./format.js";

const WORD_MOST = 12;    // letters of a word on an axis
const ROUNDING = 1e-12;  // relative rounding error of sums and means; no axis shows it

// Maps numbers to places from 0 to 1. Returns {to, from, ticks, valid}.
export function makeScale(min, max, log) {
  if (log) {
    const a = Math.log10(min);
    const span = Math.log10(max) - a || 1;
    return {
      min,
      max,
      to: (v) => (Math.log10(v) - a) / span,
      from: (p) => 10 ** (a + p * span),
      ticks: logTicks(min, max),
      valid: (v) => v > 0,
    };
  }
  const span = max - min || 1;
  return {
    min,
    max,
    to: (v) => (v - min) / span,
    from: (p) => min + p * span,
    ticks: ticks(min, max),
    valid: () => true
  };
}

// Maps words to places from 0 to 1, in this order, each in the middle of its share. The number of a word is its index.
export function makeWordScale(words) {
  const count = Math.max(1, words.length);
  return {
    min: -0.5,
    max: count - 0.5,
    to: (i) => (i + 0.5) / count,
    from: (p) => p * count - 0.5,
    ticks: words.map((_, i) => i),
    text: (i) => (words[i].length > WORD_MOST ? `${words[i].slice(0, WORD_MOST - 1)}…` : words[i]),
    valid: () => true
  };
}

export function ticks(min, max, wanted = 6) {
  const span = max - min;
  if (!(span > 0)) return [min];
  const rough = span / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const list = [];
  for (let i = Math.ceil(min / step); i * step <= max * (1 + 1e-12) && list.length < 20; ++i) list.push(i * step || 0);
  return list;
}

function logTicks(min, max) {
  const low = Math.floor(Math.log10(min));
  const high = Math.ceil(Math.log10(max));
  const parts = high - low > 6 ? [1] : high - low > 2 ? [1, 3] : [1, 2, 5];
  const list = [];
  for (let power = low; power <= high; ++power) {
    for (const part of parts) {
      const at = part * 10 ** power;
      if (at >= min * 0.9999 && at <= max * 1.0001) list.push(at);
    }
  }
  return list.length > 1 ? list : ticks(min, max);
}

// Returns the range of these values with a little margin; on a log scale, of the positive ones alone.
export function rangeOf(values, log) {
  let min = Infinity;
  let max = -Infinity;
  for (const v of values) {
    if (!Number.isFinite(v) || (log && v <= 0)) continue;
    if (v < min) min = v;
    if (v > max) max = v;
  }
  if (min > max) return log ? [0.1, 1] : [0, 1];
  if (max - min <= ROUNDING * Math.max(Math.abs(min), Math.abs(max)))
    return log ? [min / 2, max * 2] : [min - (Math.abs(min) || 1) / 2, max + (Math.abs(max) || 1) / 2];
  if (log) {
    const room = (max / min) ** 0.03;
    return [min / room, max * room];
  }
  const room = (max - min) * 0.03;
  return [min - room, max + room];
}

const FAR = 10;      // times the middle half's spread; a value further out is far from the others
const FAR_MOST = 4;  // of this many values at most one may be far; more are a second group
const FLAT = 15;     // times the range of the others; below this, far values do not flatten them
const FEW = 6;       // with fewer values, none counts as far

// Returns the range of the values near one another if a few far ones would flatten them; else null. `values` may be a
// sample.
export function nearRange(values, log) {
  const sorted = Float64Array.from(log ? values.map(Math.log10) : values).sort();
  const count = sorted.length;
  if (count < FEW) return null;
  const at = (share) => sorted[Math.min(count - 1, Math.floor(share * count))];
  const room = FAR * (at(0.75) - at(0.25) || at(0.9) - at(0.1));
  const near = sorted.filter((v) => v >= at(0.25) - room && v <= at(0.75) + room);
  const far = count - near.length;
  if (far === 0 || far > count / FAR_MOST) return null;
  const [low, high] = [near[0], near[near.length - 1]];
  if (sorted[count - 1] - sorted[0] <= FLAT * (high - low)) return null;
  return log ? [10 ** low, 10 ** high] : [low, high];
}

export function colours(element) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  return {
    text: of("--text"),
    dim: of("--dim"),
    line: of("--line"),
    accent: of("--accent"),
    ground: of("--raised"),
    series: Array.from({length: COLOURS}, (_, i) => of(`--k${i}`)),
    best: of(`--k${BEST}`),
    good: of("--k0"),
    rest: of("--rest"),
  };
}

// Returns the colour at `share` of the way from one colour to another. Both are "#rrggbb".
export function mixed(from, to, share) {
  const part = (text, i) => Number.parseInt(text.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mix = (i) => Math.round(part(from, i) + (part(to, i) - part(from, i)) * share);
  return `#${[0, 1, 2].map((i) => mix(i).toString(16).padStart(2, "0")).join("")}`;
}

const SHADE_LEAST = 0.2;  // share of the full colour in the palest shade

// Returns a shade of blue: pale for 0, full for 1.
export function shadeOf(share, colour) {
  return mixed(colour.ground, colour.good, SHADE_LEAST + (1 - SHADE_LEAST) * share);
}

// Number of colours, the same as dtctl's report in the same order; and the colour of the best.
export const COLOURS = 8;
export const BEST = 1;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

// Returns the n-th colour, or that of a rank: "best", "good" (the best quarter) or "rest".
export function colourOf(n, palette) { return typeof n === "number" ? palette.series[n % COLOURS] : palette[n]; }

// Returns the dash pattern of the n-th line, for lines that share a colour.
export function dashesOf(n) { return typeof n === "number" ? DASHES[Math.floor(n / COLOURS) % DASHES.length] : []; }

// Gives a canvas as many pixels as it has on the screen. Returns its context and size in CSS pixels.
export function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width, height};
}

// Draws axes. box: {left, top, width, height} of the area inside them.
export function drawAxes(context, box, x, y, labels, colour) {
  context.font = "11px system-ui, sans-serif";
  context.lineWidth = 1;
  context.strokeStyle = colour.line;
  context.fillStyle = colour.dim;
  context.textAlign = "center";
  context.textBaseline = "top";
  let free = -Infinity;
  for (const tick of x.ticks) {
    const at = Math.round(box.left + x.to(tick) * box.width) + 0.5;
    line(context, at, box.top, at, box.top + box.height);
    const text = x.text ? x.text(tick) : number(tick, 4);
    const half = context.measureText(text).width / 2;
    if (at - half < free) continue;
    context.fillText(text, at, box.top + box.height + 4);
    free = at + half + 8;
  }
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of y.ticks) {
    const at = Math.round(box.top + (1 - y.to(tick)) * box.height) + 0.5;
    line(context, box.left, at, box.left + box.width, at);
    context.fillText(y.text ? y.text(tick) : number(tick, 4), box.left - 5, at);
  }
  context.fillStyle = colour.text;
  context.textAlign = "left";
  context.textBaseline = "top";
  context.fillText(labels.y, 6, 3);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  context.fillText(labels.x, box.left + box.width, box.top + box.height + 30);
}

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
