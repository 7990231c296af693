// series.js: turns curves of the API into series of a plot: smoothing, another x axis than steps, and the zoom in the
// address.
import {lowerBound} from "./levels.js";

// Returns an exponential moving average, unbiased from the first value on; a gap stays a gap.
export function smoothed(ys, share) {
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

// Parses the zoom in the address: "120~480"; null for all, and for an invalid range.
export function zoomOf(text) {
  const [from, to] = (text ?? "").split("~").map(Number.parseFloat);
  return from >= 0 && from < to && to < Infinity ? [from, to] : null;
}
export function textOfZoom(zoom) { return zoom && zoom.map((v) => Number(v.toPrecision(9))).join("~"); }

// Returns the API's arrays as those of a series; the previous arrays if they are equal.
export function seriesOf(curve, before) {
  const xs = Float64Array.from(curve?.steps ?? []);
  const ys = Float64Array.from(curve?.values ?? [], (v) => v ?? NaN);
  const same = before && before.xs.length === xs.length && xs.every((x, i) => x === before.xs[i]) &&
    ys.every((y, i) => Object.is(y, before.ys[i]));
  return same ? {xs: before.xs, ys: before.ys} : {xs, ys};
}

// Returns the same values over another x: `of` is a rising curve with that x at each step. Interpolates between its
// steps; values after its last step are left out.
export function seriesOver({xs, ys}, of) {
  const at = [];
  const values = [];
  for (let i = 0; i < xs.length; ++i) {
    const next = lowerBound(of.xs, xs[i]);
    if (next >= of.xs.length) break;
    const [x0, x1] = next ? [of.xs[next - 1], of.xs[next]] : [0, of.xs[0]];
    const [v0, v1] = next ? [of.ys[next - 1], of.ys[next]] : [0, of.ys[0]];
    const v = x1 > x0 ? v0 + ((v1 - v0) * (xs[i] - x0)) / (x1 - x0) : v1;
    if (!Number.isFinite(v) || v < (at.at(-1) ?? 0)) continue;
    at.push(v);
    values.push(ys[i]);
  }
  return {xs: Float64Array.from(at), ys: Float64Array.from(values)};
}
