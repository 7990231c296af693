// levels.js: a curve in levels with half as many points each: of four neighbouring points it keeps the smallest and the
// largest, so that a spike stays. A chart draws the level that fits its width. Levels are made once for each changed
// curve.
const ENOUGH = 512;  // a level with this many points needs no coarser one

// Replaces values that cannot be drawn by NaN, which makes a gap. `positive`: for a logarithmic axis.
function drawable(ys, positive) {
  const floor = positive ? 0 : -Infinity;
  const out = ys.slice();
  for (let i = 0; i < out.length; ++i) {
    const v = out[i];
    if (!(v > floor && v < Infinity)) out[i] = NaN;
  }
  return out;
}

function halved({xs, ys}) {
  const groups = Math.ceil(xs.length / 4);
  const up = {xs: new Float64Array(2 * groups), ys: new Float64Array(2 * groups)};
  const upX = up.xs;
  const upY = up.ys;
  for (let group = 0; group < groups; ++group) {
    const start = 4 * group;
    const end = Math.min(start + 4, xs.length);
    let least = -1, largest = -1;
    let low = Infinity, high = -Infinity;
    for (let i = start; i < end; ++i) {
      const v = ys[i];
      if (v < low) {
        low = v;
        least = i;
      }
      if (v > high) {
        high = v;
        largest = i;
      }
    }
    const first = least < 0 ? start : Math.min(least, largest);
    const second = least < 0 ? end - 1 : Math.max(least, largest);
    upX[2 * group] = xs[first];
    upY[2 * group] = ys[first];
    upX[2 * group + 1] = xs[second];
    upY[2 * group + 1] = ys[second];
  }
  return up;
}

export class Levels {
  constructor(xs, ys, positive) { this.levels = [{xs, ys: drawable(ys, positive)}]; }

  // Returns the level with at most about `points` points between `min` and `max` of x.
  at(min, max, points) {
    for (let i = 0;; ++i) {
      const level = this.levels[i];
      const shown = lowerBound(level.xs, max) - lowerBound(level.xs, min);
      if (shown <= Math.max(points, ENOUGH)) return level;
      if (i + 1 === this.levels.length) this.levels.push(halved(level));
    }
  }
}

// Returns the first index whose x is not below `at`.
export function lowerBound(xs, at) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
