// compare.js: two or more trials, or experiments by their best trials: their differing settings, their results, and
// their curves in one chart.
import {get} from "./api.js";
import {Curves, reportedBy} from "./curves.js";
import {el, foreign, replace} from "./dom.js";
import {any, assignments, NONE, number, outcome, percent, shortAssignments} from "./format.js";
import {isProgram} from "./program.js";

const MOST = 50;
// A key that is no parameter: parameters' names have no spaces.
const SEARCH = "search method";

// Flattens nested settings: {"train.batch_size": 8, …}
function flat(value, path = "", into = Object.create(null)) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    for (const [key, inner] of Object.entries(value)) flat(inner, path ? `${path}.${key}` : key, into);
  } else {
    into[path] = value;
  }
  return into;
}

function parse(text) {
  const wanted = [];
  for (const word of text.split(/[\s,]+/).filter(Boolean)) {
    const found = /^(\d+)(?:\/(\d+))?$/.exec(word);
    if (found && wanted.length < MOST)
      wanted.push({experiment: Number(found[1]), trial: found[2] ? Number(found[2]) : null});
  }
  return wanted;
}

// Rows marked "model" are shown only if one of the trials is of a model that dtrain trains.
const RESULTS = [
  ["state", (t) => outcome(t)],
  ["step", (t) => number(t.step)],
  ["metric", (t) => number(t.metric_value)],
  ["loss", (t) => number(t.latest?.loss), "model"],
  ["best val_loss", (t) => number(t.best_val_loss), "model"],
  ["tokens/s", (t) => number(t.tokens_per_second, 4), "model"],
  ["ranks", (t) => any(t.world_size)],
  ["attempts", (t) => any(t.attempts)],
  ["communication share", (t) => (t.comm_ratio === null ? NONE : percent(t.comm_ratio)), "model"],
  ["model parameters", (t) => number(t.model_parameters), "model"],
  ["device", (t) => foreign(t.provenance?.device_name || NONE), "model"],
  ["data", (t) => foreign((t.data_fingerprint || NONE).slice(0, 16)), "model"],
];

export function showCompare({root, settings, keep, title}) {
  title("Compare");
  let wanted = parse(settings.of ?? "");
  let again = () => {};
  const curves = new Curves({label: "Curves", settings, keep, changed: () => again()});
  const input = el("input", {
    type: "text",
    value: settings.of ?? "",
    placeholder: "12/1, 12/3, 13",
    on: {
      change: () => {
        settings.of = input.value;
        keep({of: input.value || null});
        wanted = parse(input.value);
        again();
      }
    }
  });
  const hint = el(
    "p", {class: "dim"},
    "Enter trials, such as 12/1 and 12/3, or experiments, such as 13. An experiment stands for its best trial.");
  const results = el("div");
  const differences = el("div");
  const body = el(
    "div", {}, el("section", {"aria-label": "Curves"}, el("h2", {}, "Curves"), curves.element),
    el("section", {"aria-label": "Results"}, el("h2", {}, "Results"), results),
    el("section", {"aria-label": "Differences"}, el("h2", {}, "Differing settings"), differences));
  replace(root, el("h1", {}, "Compare"), el("div", {class: "controls"}, el("label", {}, "Trials", input)), hint, body);
  let shown = null;
  const offered = new Set();  // trials whose metrics can be chosen

  function table(caption, trials, rows) {
    return el(
      "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": caption},
      el(
        "table", {}, el("caption", {}, caption),
        el(
          "thead", {},
          el(
            "tr", {}, el("th", {scope: "col"}, ""),
            trials.map(
              (t) =>
                el("th", {scope: "col"}, el("a", {href: `#/experiments/${t.experiment}/trials/${t.trial}`}, t.id))))),
        el(
          "tbody", {},
          rows.map(
            ([name, cells]) =>
              el("tr", {}, el("th", {scope: "row"}, el("bdi", {}, name)), cells.map((cell) => el("td", {}, cell)))))));
  }

  function draw(items) {
    const trials = items.map((one) => one.trial);
    const model = items.some(({experiment}) => !isProgram(experiment));
    const text = (cell) => cell.textContent ?? cell;
    const told = RESULTS.map(([name, of, only]) => [name, trials.map(of), only])
                   .filter(([, cells, only]) => !only || model || cells.some((cell) => text(cell) !== NONE))
                   .map(([name, cells]) => [name, cells]);
    replace(results, table("Results", trials, told));
    const settingsOf = items.map(
      ({experiment, trial}) =>
        ({...flat({...experiment.spec?.base}), [SEARCH]: experiment.spec?.search?.method, ...trial.assignments}));
    const settingOf = (one, path) => any(Object.hasOwn(one, path) ? one[path] : undefined);
    const paths = [...new Set(settingsOf.flatMap((one) => Object.keys(one)))].sort();
    const rows = paths.map((path) => [path, settingsOf.map((one) => settingOf(one, path))])
                   .filter(([, values]) => values.some((value) => value !== values[0]))
                   .map(([path, values]) => [path, values.map((value) => foreign(value))]);
    replace(
      differences,
      rows.length ? table("Differing settings", trials, rows) : el("p", {class: "dim"}, "No settings differ."));
  }

  async function refresh(signal) {
    if (!wanted.length || !shown) body.hidden = true;
    hint.hidden = wanted.length > 1;
    if (!wanted.length) return;
    const items = [];
    for (const one of wanted) {
      const experiment = await get(`experiments/${one.experiment}`, signal);
      const number_ = one.trial ?? (experiment.best_trial || 1);
      items.push({experiment, trial: await get(`experiments/${one.experiment}/trials/${number_}`, signal)});
    }
    if (shown === null || shown.length !== items.length || items.some((item, i) => item.trial !== shown[i].trial))
      draw(items);
    shown = items;
    body.hidden = false;
    const goals = new Map();  // by metric, if all experiments with it agree
    for (const {experiment: {metric, goal}} of items) goals.set(metric, (goals.get(metric) ?? goal) === goal && goal);
    const {metric} = items[0].experiment;
    if (curves.setProgram(items.every(({experiment}) => isProgram(experiment)))) offered.clear();
    curves.setSearched(metric, goals.get(metric) || null);
    await curves.refresh(
      items.map(({trial, experiment}, i) => ({
                  experiment: trial.experiment,
                  trial: trial.trial,
                  key: trial.id,
                  name: `${trial.id} ${experiment.name.slice(0, 40)}`,
                  note: assignments(trial),
                  short: shortAssignments(trial),
                  colour: i,
                  tokensPerStep: trial.tokens_per_step,
                  tokensOfEpoch: trial.train_tokens
                })),
      signal);
    await offerOwn(items, signal);
  }
  // Offers what the trials report, once each has a value.
  async function offerOwn(items, signal) {
    const fresh = items.filter(({trial}) => trial.metric_value !== null && !offered.has(trial.id));
    for (const {experiment, trial} of fresh) {
      curves.offer(await reportedBy(experiment, trial, signal));
      offered.add(trial.id);
    }
  }
  again = () => {
    refresh().catch(() => {});
  };  // the next refresh shows the error
  return {refresh, close() { curves.close(); }};
}
