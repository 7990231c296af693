// format.js: formats numbers, times and states for people.
import {el} from "./dom.js";

export const NONE = "–";

export function number(value, digits = 5) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e7))
    return value.toExponential(Math.max(0, digits - 3)).replace(/\.?0+e/, "e");
  return String(Number(value.toPrecision(digits)));
}

export function plural(count, noun) { return `${number(count)} ${noun}${count === 1 ? "" : "s"}`; }

export function any(value) {
  if (value === null || value === undefined) return NONE;
  if (typeof value === "number") return number(value, 6);
  if (Array.isArray(value)) return `[${value.map(any).join(", ")}]`;
  if (typeof value === "object") return JSON.stringify(value);
  return String(value);
}

export function percent(ratio) { return ratio === null || ratio === undefined ? NONE : `${Math.round(ratio * 100)} %`; }

export function duration(seconds) {
  if (seconds === null || seconds === undefined || seconds < 0) return NONE;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

export function bytes(count) {
  if (!count) return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  return `${number(count / 2 ** (10 * power), 3)} ${units[power]}`;
}

// Returns the time in the reader's time zone, with its name, as dtctl does; the exact time is in the title.
export function time(iso) {
  if (!iso) return null;
  const text = new Date(iso).toLocaleString("sv-SE", {dateStyle: "short", timeStyle: "long"});
  return el("time", {datetime: iso, title: iso}, text);
}
export function clock(date) { return date.toLocaleTimeString("sv-SE", {timeStyle: "long"}); }

const STATES = {
  running: "busy",
  starting: "busy",
  finished: "good",
  failed: "bad",
  cancelled: "warn",
  stopping: "warn",
  busy: "busy",
  idle: "good",
  lost: "bad",
  quarantined: "bad",
  drained: "warn",
  draining: "warn",
};
export function stateClass(state) { return STATES[state] ?? "dim"; }
export function state(word) { return el("span", {class: stateClass(word)}, word ?? NONE); }

// Returns a trial's state or outcome. A trial that a rule of the search ended is neither a success nor a failure.
export function outcome(trial) {
  if (trial.cause === "stopped_early") return el("span", {class: "dim together"}, "stopped early");
  const cause = trial.cause && trial.cause !== trial.state ? words(trial.cause) : null;
  return el("span", {}, state(trial.state), cause ? el("span", {class: "dim"}, ` ${cause}`) : null);
}
export function words(name) { return name.replaceAll("_", " "); }

// Returns the ratio of the devices' peak that a row's steps used, without evaluations and checkpoints; null: unknown.
export function utilization(row) {
  const seconds = row ? row.seconds - row.eval_seconds - row.checkpoint_seconds : 0;
  return row?.peak_flops > 0 && seconds > 0 ? row.flops / seconds / row.peak_flops : null;
}

export function progress(ratio, label) {
  const share = Math.max(0, Math.min(1, ratio ?? 0));
  return el(
    "span", {class: "progress"}, el("progress", {max: 1, value: share, "aria-label": label}), ` ${percent(share)}`);
}

// Returns a trial's share of its steps.
export function share(trial) {
  if (trial.target_steps) return trial.step / trial.target_steps;
  if (trial.progress) return trial.progress;
  return trial.state === "finished" ? 1 : 0;
}

export function assignments(trial) {
  return Object.entries(trial.assignments ?? {}).map(([path, value]) => `${path}=${any(value)}`).join(", ");
}
// Does the same with the last part of each path, where that is unique.
export function shortAssignments(trial) {
  const paths = Object.keys(trial.assignments ?? {});
  const last = (path) => path.slice(path.lastIndexOf(".") + 1);
  const name = (path) => (paths.filter((one) => last(one) === last(path)).length > 1 ? path : last(path));
  return paths.map((path) => `${name(path)}=${any(trial.assignments[path])}`).join(" ");
}
