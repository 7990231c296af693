// parameters.js: axes for the parameters of a search: numbers on a scale, words side by side.
import {any} from "./format.js";
import {makeScale, makeWordScale, rangeOf} from "./scales.js";

// Returns the paths of the parameters whose axis is logarithmic: those whose range is, and learning rates.
export function logPaths(parameters) {
  return new Set(parameters.filter((one) => one.range?.scale === "log" || /(^|\.)(lr|learning_rate)$/.test(one.path))
                   .map((one) => one.path));
}

// Returns an axis for these values: {scale, at(value), log}. at(value) returns the number of a value on the scale, NaN
// for a value that has none.
export function axisOf(values, wantsLog) {
  const given = values.filter((v) => v !== null && v !== undefined);
  if (given.length && given.every((v) => typeof v === "number")) {
    const log = wantsLog && given.every((v) => v > 0);
    const at = (v) => (typeof v === "number" && Number.isFinite(v) && (!log || v > 0) ? v : NaN);
    return {scale: makeScale(...rangeOf(given, log), log), at, log};
  }
  const words = [...new Set(given.map(any))].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
  const index = new Map(words.map((word, i) => [word, i]));
  return {scale: makeWordScale(words), at: (v) => index.get(any(v)) ?? NaN, log: false};
}

// Returns the parameters that have two values or more among these trials.
export function varied(trials, paths) {
  return paths.filter(
    (path) => new Set(trials.map((t) => t.assignments[path]).filter((v) => v !== undefined).map(any)).size > 1);
}
