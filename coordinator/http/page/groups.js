// groups.js: groups trials by a parameter, or by all parameters but the seed, and joins the curves of a group to their
// mean and range.
import {any, plural} from "./format.js";
import {lowerBound} from "./levels.js";

const GROUPS_MOST = 24;  // values by which a parameter can group trials
const POINTS_MOST = 1000;
const SEED = "seed";
export const BY_SETTINGS = "settings";

const valueOf = (trial, path) => (Object.hasOwn(trial.assignments, path) ? any(trial.assignments[path]) : "none");
const shortOf = (path, paths) => {
  const last = (name) => name.slice(name.lastIndexOf(".") + 1);
  return paths.filter((one) => last(one) === last(path)).length > 1 ? path : last(path);
};

// Returns the paths that name the group of a trial, or null if there are no groups by this choice.
function pathsOf(by, paths) {
  if (by === BY_SETTINGS) return paths.filter((path) => path !== SEED);
  return by?.startsWith("p.") && paths.includes(by.slice(2)) ? [by.slice(2)] : null;
}

// Returns by what these trials can be grouped: [[choice, words], …].
export function groupings(trials, paths) {
  const groups = (of) => {
    const found = new Set();
    for (const t of trials) {
      found.add(JSON.stringify(of.map((path) => valueOf(t, path))));
      if (found.size > GROUPS_MOST) return false;
    }
    return of.length > 0 && found.size < trials.length;
  };
  const settings = paths.filter((path) => path !== SEED);
  const choices = settings.length < paths.length && groups(settings) ? [[BY_SETTINGS, "all but the seed"]] : [];
  return [...choices, ...paths.filter((path) => groups([path])).map((path) => [`p.${path}`, path])];
}

// Returns a function that names the group of a trial, or null without groups.
export function grouping(by, paths) {
  const named = pathsOf(by, paths);
  if (!named?.length) return null;
  return (t) => named.map((path) => `${shortOf(path, paths)}=${valueOf(t, path)}`).join(" ");
}

// Returns the value at x between the points of a curve; NaN outside it.
function valueAt({xs, ys}, x) {
  const next = lowerBound(xs, x);
  if (next >= xs.length) return NaN;
  if (xs[next] === x) return ys[next];
  if (next === 0) return NaN;
  const share = (x - xs[next - 1]) / (xs[next] - xs[next - 1]);
  return ys[next - 1] + share * (ys[next] - ys[next - 1]);
}

function placesOf(curves) {
  const all = [...new Set(curves.flatMap((one) => [...one.xs]))].sort((a, b) => a - b);
  const every = Math.ceil(all.length / POINTS_MOST);
  return all.filter((_, i) => i % every === 0 || i + 1 === all.length);
}

// Returns the mean, the lowest and the highest value of these curves at each x.
function joined(curves) {
  const xs = Float64Array.from(placesOf(curves));
  const [ys, low, high] = [0, 1, 2].map(() => new Float64Array(xs.length).fill(NaN));
  xs.forEach((x, i) => {
    const values = curves.map((one) => valueAt(one, x)).filter(Number.isFinite);
    if (!values.length) return;
    ys[i] = values.reduce((sum, v) => sum + v, 0) / values.length;
    low[i] = Math.min(...values);
    high[i] = Math.max(...values);
  });
  return {xs, ys, low, high};
}

// Compares names of groups, such as "lr=0.1 opt=adam", by their values.
function compareNames(a, b) {
  const [one, other] = [a, b].map((name) => name.split(/[ =]/));
  for (let i = 0; i < Math.min(one.length, other.length); ++i) {
    const difference = Number(one[i]) - Number(other[i]);
    const order = Number.isNaN(difference) ? one[i].localeCompare(other[i], "en") : difference;
    if (order) return order;
  }
  return one.length - other.length;
}

// Returns one curve for each group of these curves, in order of their names. A curve has the name of its group.
export function joinGroups(curves) {
  const groups = new Map();
  for (const one of curves) {
    if (!groups.has(one.group)) groups.set(one.group, []);
    groups.get(one.group).push(one);
  }
  const names = [...groups.keys()].sort(compareNames);
  return names.map((name, i) => {
    const members = groups.get(name);
    const drawn = members.filter((one) => one.xs.length);
    const words = plural(drawn.length, "trial");
    const note = `mean of ${words}: ${drawn.map((one) => one.name).join(", ")}`;
    return {key: name, name, short: words, note, colour: i, trials: drawn.length, ...joined(drawn)};
  });
}
