// experiments.js: every experiment in a table, filtered and sorted.
import {getAll} from "./api.js";
import {check, choice, el, foreign, replace} from "./dom.js";
import {duration, number, progress, state, time} from "./format.js";
import {objectivesOf} from "./ranks.js";
import {Table} from "./table.js";

const STATES = [["", "any"], "queued", "running", "finished", "failed", "cancelled"];

export function labelsOf(labels) {
  return el(
    "span", {class: "labels"},
    Object.entries(labels ?? {})
      .map(([key, value]) => el("bdi", {class: "label", title: `${key}=${value}`.slice(0, 2000)}, `${key}=${value}`)));
}

// Returns the names that trials are compared by.
const metricsOf = (e) => objectivesOf(e).join(", ") || e.metric;

// Returns the best value as a link to its trial. Several objectives have a front, and no best value.
function bestOf(e) {
  if (objectivesOf(e).length) return e.pareto_trials?.length ? `front of ${e.pareto_trials.length}` : null;
  if (!e.best_trial) return null;
  return el("a", {href: `#/experiments/${e.experiment}/trials/${e.best_trial}`}, number(e.best_value));
}

const COLUMNS = [
  {
    key: "experiment",
    title: "No.",
    number: true,
    value: (e) => e.experiment,
    cell: (e) => el("a", {href: `#/experiments/${e.experiment}`}, String(e.experiment))
  },
  {
    key: "name",
    title: "Name",
    value: (e) => e.name,
    cell: (e) => el("a", {href: `#/experiments/${e.experiment}`}, foreign(e.name))
  },
  {
    key: "state",
    title: "State",
    value: (e) => e.state,
    cell: (e) => el("span", {}, state(e.state), e.paused ? el("span", {class: "warn"}, " paused") : null)
  },
  {
    key: "progress",
    title: "Progress",
    value: (e) => e.progress_ratio,
    cell: (e) => progress(e.progress_ratio, "progress")
  },
  {
    key: "trials",
    title: "Trials",
    number: true,
    value: (e) => e.trials,
    cell: (e) => `${e.finished + e.failed + e.cancelled}/${Math.max(e.trials, e.planned_trials)}`
  },
  {key: "running", title: "Running", number: true, value: (e) => e.running},
  {key: "pending", title: "Waiting", number: true, value: (e) => e.pending, hidden: true},
  {
    key: "failed",
    title: "Failed",
    number: true,
    value: (e) => e.failed,
    cell: (e) => (e.failed ? el("span", {class: "bad"}, String(e.failed)) : "0")
  },
  {key: "best", title: "Best", number: true, value: (e) => objectivesOf(e).length ? null : e.best_value, cell: bestOf},
  {key: "metric", title: "Metric", value: metricsOf, cell: (e) => (metricsOf(e) ? foreign(metricsOf(e)) : null)},
  {
    key: "eta",
    title: "Time left",
    number: true,
    value: (e) => e.eta_seconds,
    cell: (e) => (e.ended_at ? null : duration(e.eta_seconds))
  },
  {key: "priority", title: "Priority", number: true, value: (e) => e.priority, hidden: true},
  {key: "slots", title: "Slots", number: true, value: (e) => e.slots_held, hidden: true},
  {key: "submitted", title: "Submitted", value: (e) => e.submitted_at, cell: (e) => time(e.submitted_at)},
  {
    key: "by",
    title: "Submitted by",
    value: (e) => e.submitted_by,
    cell: (e) => (e.submitted_by ? foreign(e.submitted_by) : null),
    hidden: true
  },
  {key: "note", title: "Note", value: (e) => e.note, cell: (e) => (e.note ? foreign(e.note) : null), hidden: true},
  {key: "labels", title: "Labels", value: (e) => Object.entries(e.labels).join(" "), cell: (e) => labelsOf(e.labels)},
];

function matches(experiment, words) {
  const text =
    [
      experiment.experiment, experiment.name, experiment.state, experiment.metric, experiment.submitted_by,
      experiment.note, ...Object.entries(experiment.labels).map(([key, value]) => `${key}=${value}`)
    ].join("\u0001")
      .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function showExperiments({root, settings, keep, title}) {
  title("Experiments");
  settings.sort ??= "-experiment";
  let all = [];
  const chosen = new Set((settings.chosen ?? "").split(",").filter(Boolean));
  const table = new Table({
    caption: "Experiments",
    columns: COLUMNS,
    key: (e) => String(e.experiment),
    settings,
    onSettings: keep,
    choose: {
      has: (key) => chosen.has(key),
      toggle: (key, on) => {
        if (on)
          chosen.add(key);
        else
          chosen.delete(key);
        set({chosen: [...chosen].join(",") || null});
      }
    }
  });
  const compare = el("span");
  const count = el("span", {class: "dim"});
  const draw = () => {
    const words = (settings.filter ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const shown = all.filter((e) => (!settings.state || e.state === settings.state) && matches(e, words));
    count.textContent = shown.length === all.length ? `${all.length}` : `${shown.length} of ${all.length}`;
    table.update(shown);
    replace(
      compare,
      chosen.size > 1 ? el("a", {href: `#/compare?of=${[...chosen].join(",")}`}, `Compare ${chosen.size} experiments`) :
                        null);
  };
  const set = (change) => {
    Object.assign(settings, change);
    keep(change);
    draw();
  };
  const filter = el("input", {
    type: "search",
    value: settings.filter ?? "",
    placeholder: "name, label, state …",
    on: {input: () => set({filter: filter.value || null})}
  });
  const empty =
    el("p", {hidden: true}, "No experiments yet. Submit one with ", el("code", {}, "dtctl submit FILE"), ".");
  replace(
    root, el("h1", {}, "Experiments"),
    el(
      "div", {class: "controls"}, el("label", {}, "Filter", filter),
      choice("State", STATES, settings.state ?? "", (v) => set({state: v || null})),
      check(
        "archived", settings.archived === "1",
        (on) => {
          set({archived: on ? "1" : null});
          refresh();
        }),
      count, compare),
    empty, table.element);

  async function refresh(signal) {
    all = await getAll(settings.archived === "1" ? "experiments?archived=true" : "experiments", signal);
    empty.hidden = all.length > 0;
    table.element.hidden = all.length === 0;
    draw();
  }
  return {refresh, close() {}};
}
