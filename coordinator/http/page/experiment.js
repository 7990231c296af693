// experiment.js: one experiment: its curves, its trials, the effect of its parameters, and its file.
import {experimentBar} from "./actions.js";
import {get, getAll, getCurves} from "./api.js";
import {Charts} from "./charts.js";
import {reportedBy} from "./curves.js";
import {choice, el, facts, foreign, replace} from "./dom.js";
import {labelsOf} from "./experiments.js";
import {assignments, duration, number, progress, shortAssignments, state, time, words} from "./format.js";
import {grouping, groupings} from "./groups.js";
import {History} from "./history.js";
import {inLayout} from "./layout.js";
import {Pictures} from "./pictures.js";
import {isProgram} from "./program.js";
import {bestFirst, coloursOf, inOrder, objectivesOf} from "./ranks.js";
import {Rungs} from "./rungs.js";
import {Table} from "./table.js";
import {Timeline} from "./timeline.js";
import {trialColumns} from "./trial_columns.js";

const REPORTS = [["html", "one page (HTML)"], ["md", "text (Markdown)"], ["csv", "one row per trial (CSV)"]];
const CURVES_SHOWN = 20;  // by default
const CURVES_MOST = 100;
const FRONT_SHOWN = 12;   // trials of a Pareto front, as in dtctl
const NEWEST_MOST = 500;  // trials whose newest values are read for a plot or a column

function matches(trial, wanted) {
  const cause = trial.cause ?? "";
  const said = [trial.id, trial.state, cause, words(cause), assignments(trial), trial.message ?? ""];
  const text = said.join(" ").toLowerCase();
  return wanted.every((word) => text.includes(word));
}

// Returns "maximize accuracy, minimize latency_ms".
function goalsOf(e) {
  return objectivesOf(e).map((name, i) => `${e.goals[i]} ${name}`).join(", ") || `${e.goal} ${e.metric}`;
}

function trialLink(e, trial) {
  return el("a", {href: `#/experiments/${e.experiment}/trials/${trial}`}, `${e.experiment}/${trial}`);
}

// Returns the best trial with its value, or links to the trials on the Pareto front of several objectives.
function bestOf(e) {
  if (!objectivesOf(e).length) {
    return e.best_trial ? el("span", {}, trialLink(e, e.best_trial), ` ${e.metric} ${number(e.best_value)}`) : null;
  }
  const front = e.pareto_trials ?? [];
  const more = front.length > FRONT_SHOWN ? `, … ${front.length} trials` : "";
  return front.length ?
    el("span", {}, front.slice(0, FRONT_SHOWN).flatMap((one, i) => [i ? ", " : "", trialLink(e, one)]), more) :
    null;
}

export function showExperiment({root, params, settings, keep, title}) {
  const number_ = params[0];
  const chosen = new Set((settings.trials ?? "").split(",").filter(Boolean).map(Number));
  const head = el("div");
  const acts = experimentBar();
  const trialsTitle = el("h2", {}, "Trials");
  const compare = el("span", {});
  let experiment = null;
  let trials = [];
  let offered = false;
  const newest = new Map();  // by metric: the newest values, by trial
  let table = null;
  let again = () => {};

  const curves = new Charts({settings, keep, changed: () => again(), onPoint: (key) => table?.pointAt(key)});
  const groups = el("span");
  const onOpen = (item) => {
    location.hash = `#/experiments/${item.key.replace("/", "/trials/")}`;
  };
  const history = new History({settings, keep, onOpen});
  const pictures = new Pictures({settings, keep, onOpen, changed: () => again()});
  const rungs = new Rungs();
  const timeline = new Timeline({onOpen});
  const filter = el("input", {
    type: "search",
    value: settings.filter ?? "",
    placeholder: "state, parameter=value …",
    on: {
      input: () => {
        set({filter: filter.value || null});
      }
    }
  });
  const bar = el(
    "div", {class: "controls"}, el("label", {}, "Filter", filter),
    el(
      "button", {type: "button", on: {click: () => choose(shownTrials().map((t) => t.trial).slice(0, CURVES_MOST))}},
      "Choose shown"),
    el("button", {type: "button", on: {click: () => choose(best(10).map((t) => t.trial))}}, "Choose best 10"),
    el("button", {type: "button", on: {click: () => choose([])}}, "Choose none"), compare);
  const tableBox = el("div");
  const file = el("pre", {class: "foreign"});
  const spec = el("pre", {class: "foreign"});
  const edits = el("div");
  const parts = {
    "Curves": curves.element,
    "Trials": [el("section", {"aria-label": "Trials"}, trialsTitle, bar, tableBox), rungs.element],
    "Slices": pictures.element,  // the first of all pictures of parameters
    "Timeline": timeline.element
  };
  replace(
    root, head, acts.element, el("div", {class: "controls"}, groups, curves.button), inLayout(parts), edits,
    el("details", {}, el("summary", {}, "Submitted file"), file),
    el("details", {}, el("summary", {}, "Parsed specification"), spec));

  curves.beside("Best so far", history.element);

  function set(change) {
    Object.assign(settings, change);
    keep(change);
    draw();
  }
  // Changes a setting that needs other curves.
  function seen(change) {
    set(change);
    again();
  }
  function choose(list) {
    chosen.clear();
    for (const trial of list) chosen.add(trial);
    chosenChanged();
  }
  function chosenChanged() {
    set({trials: [...chosen].sort((a, b) => a - b).join(",") || null});
    again();
  }
  function shownTrials() {
    const wanted = (settings.filter ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    return wanted.length ? trials.filter((t) => matches(t, wanted)) : trials;
  }
  function best(count) { return bestFirst(experiment, trials).slice(0, count); }
  function swept() {
    const paths = new Set();
    for (const parameter of experiment.spec?.parameters ?? []) paths.add(parameter.path);
    for (const trial of trials.slice(0, 50))
      for (const path of Object.keys(trial.assignments)) paths.add(path);
    return [...paths].slice(0, 64);
  }

  function draw() {
    if (!experiment) return;
    drawHead();
    const own = curves.own.filter((name) => name !== experiment.metric);
    const columns = trialColumns(experiment, trials, swept(), own, newest);
    if (!table) {
      table = new Table({
        caption: "Trials",
        columns,
        key: (t) => t.id,
        settings,
        onSettings: (change) => {
          keep(change);
          again();  // a column's values may not have been read yet
        },
        onPoint: (key) => curves.point(key),
        marked: (key) => key === `${experiment.experiment}/${experiment.best_trial}`,
        inOrder: (rows) => inOrder(experiment, rows),
        tall: true,
        choose: {
          has: (key) => chosen.has(Number(key.split("/")[1])),
          toggle: (key, on) => {
            const trial = Number(key.split("/")[1]);
            if (on)
              chosen.add(trial);
            else
              chosen.delete(trial);
            chosenChanged();
          }
        }
      });
      replace(tableBox, table.element);
    }
    table.setColumns(columns);
    const shown = shownTrials();
    trialsTitle.textContent =
      `Trials (${shown.length === trials.length ? trials.length : `${shown.length} of ${trials.length}`}` +
      `${chosen.size ? `, ${chosen.size} chosen` : ""})${settings.sort ? "" : ", the best first"}`;
    table.update(shown);
    history.set(experiment, shown, assignments);
    timeline.set(experiment, shown, assignments);
    replace(
      compare,
      chosen.size > 1 ?
        el(
          "a", {href: `#/compare?of=${[...chosen].map((t) => `${experiment.experiment}/${t}`).join(",")}`},
          `Compare ${chosen.size} trials`) :
        null);
    drawPictures();
  }

  function drawHead() {
    const e = experiment;
    title(`${e.experiment} ${e.name.slice(0, 60)}`);
    acts.set(e, e.submitted_by);
    replace(
      head, el("h1", {}, `${e.experiment} `, el("bdi", {}, e.name)), facts([
        [
          "state",
          el(
            "span", {}, state(e.state),
            e.paused ? (e.paused_why ? ` paused: ${e.paused_why}` : ` paused by ${e.paused_by ?? "someone"}`) : "",
            e.archived ? " archived" : "")
        ],
        [
          "progress",
          el(
            "span", {}, progress(e.progress_ratio, "progress of the experiment"),
            ` ${e.running} running, ${e.pending} waiting, ${e.finished} finished, ${e.failed} failed, ${
              e.cancelled} cancelled`,
            e.stopped_early ? `; ${e.stopped_early} stopped early` : "")
        ],
        [objectivesOf(e).length ? "Pareto front" : "best", bestOf(e)],
        ["search", e.spec ? `${e.spec.search?.method ?? ""}, ${goalsOf(e)}` : null],
        [
          "constraints",
          e.constraints?.length ?
            el("span", {}, foreign(e.constraints.join(", ")), e.infeasible ? `; ${e.infeasible} infeasible` : "") :
                                                                             null
        ],
        ["priority", e.priority ? number(e.priority) : null],
        ["rungs", e.rungs?.length ? `steps ${e.rungs.join(", ")}` : null],
        ["search ended", e.search_end ? foreign(e.search_end) : null],
        ["time left", e.ended_at ? null : duration(e.eta_seconds)],
        ["submitted", el("span", {}, time(e.submitted_at), e.submitted_by ? [" by ", foreign(e.submitted_by)] : null)],
        ["ended", time(e.ended_at)],
        ["note", e.note ? foreign(e.note) : null],
        ["description", e.spec?.description ? el("bdi", {class: "long"}, e.spec.description) : null],
        ["labels", Object.keys(e.labels).length ? labelsOf(e.labels) : null],
        [
          "notifies",
          e.spec?.notify?.url ?
            el(
              "span", {}, foreign(e.spec.notify.url),
              ` of ${e.spec.notify.events?.length ? e.spec.notify.events.join(", ") : "finished, failed, stalled"}`) :
            null
        ],
        [
          "report",
          el(
            "span", {},
            REPORTS.map(
              ([format, name], i) =>
                [i ? " · " : "download ",
                 el("a", {href: `/api/v1/experiments/${e.experiment}/report?format=${format}`, download: true}, name)]))
        ],
      ]));
  }

  function drawPictures() {
    pictures.set({
      experiment,
      all: trials,
      shown: shownTrials(),
      paths: swept(),
      metrics: curves.metrics,
      own: curves.own,
      newest
    });
  }

  // Reads the newest values of shown metrics that are not among the trials' facts.
  async function readNewest(signal) {
    const wanted = new Set([...pictures.wanted(), ...table.shown().map((column) => column.metric).filter(Boolean)]);
    let fresh = false;
    for (const name of wanted) {
      const started = trials.filter((t) => t.attempts > 0).slice(0, NEWEST_MOST).map((t) => t.trial);
      const read = await getCurves(experiment.experiment, started, [name], 2, signal);
      const values =
        new Map([...read].map(([trial, of]) => [trial, (of[name]?.values ?? []).findLast((v) => v !== null)]));
      fresh ||= JSON.stringify([...values]) !== JSON.stringify([...(newest.get(name) ?? [])]);
      newest.set(name, values);
    }
    if (!fresh) return;
    table.redraw();
    drawPictures();
  }

  // Offers to group the curves, if some trials have the same values.
  function drawGroups() {
    const choices = groupings(trials.filter((t) => t.attempts > 0), swept());
    const now = choices.some(([by]) => by === settings.group) ? settings.group : "";
    const signature = JSON.stringify([choices, now]);
    if (groups.dataset.of === signature) return;
    groups.dataset.of = signature;
    groups.hidden = !choices.length;
    replace(groups, choice("Group curves by", [["", "nothing"], ...choices], now, (by) => seen({group: by || null})));
  }

  function wantedCurves() {
    const group = grouping(settings.group, swept());
    const list = chosen.size ? trials.filter((t) => chosen.has(t.trial)) : best(group ? CURVES_MOST : CURVES_SHOWN);
    const shown = list.slice(0, CURVES_MOST);
    const colours = coloursOf(experiment, shown);
    return shown.map((t) => ({
                       experiment: t.experiment,
                       trial: t.trial,
                       key: t.id,
                       name: t.id,
                       note: assignments(t),
                       short: shortAssignments(t),
                       colour: colours.get(t.trial),
                       strong: t.trial === experiment.best_trial,
                       tokensPerStep: t.tokens_per_step,
                       tokensOfEpoch: t.train_tokens,
                       group: group?.(t)
                     }));
  }

  async function refresh(signal) {
    const found = await get(`experiments/${number_}`, signal);
    const list = await getAll(`experiments/${found.experiment}/trials`, signal);
    if (found !== experiment || list !== trials) {
      const first = experiment?.file_text !== found.file_text;
      experiment = found;
      trials = list;
      curves.setProgram(isProgram(experiment));
      curves.setSearched(experiment.metric, experiment.goal);
      if (first) {
        file.textContent = experiment.file_text;
        spec.textContent = JSON.stringify(experiment.spec, null, 2);
      }
      drawEdits();
      drawGroups();
      draw();
    }
    await curves.refresh(wantedCurves(), signal);
    await offerOwn(signal);
    await readNewest(signal);
    rungs.draw(experiment);
    await pictures.refreshImportance(signal);
  }
  // Offers the metrics of the first evaluated trial; the other trials have them too.
  async function offerOwn(signal) {
    const evaluated = offered ? null : trials.find((t) => t.val_loss !== null || t.metric_value !== null);
    if (!evaluated) return;
    const names = await reportedBy(experiment, evaluated, signal);
    offered = true;
    if (curves.offer(names)) draw();
  }
  function drawEdits() {
    const list = experiment.edits ?? [];
    const signature = JSON.stringify(list);
    if (edits.dataset.of === signature) return;
    edits.dataset.of = signature;
    replace(
      edits,
      list.length ?
        [
          el("h2", {}, "Changes"),
          el(
            "ol", {class: "story"},
            list.map(
              (edit) => el(
                "li", {}, time(edit.wall_ms ? new Date(edit.wall_ms).toISOString() : null), " ",
                foreign(edit.who ?? ""), ": ", foreign(edit.what))))
        ] :
        null);
  }
  again = () => {
    if (!experiment) return;
    curves.refresh(wantedCurves()).then(() => readNewest()).catch(() => {});  // the next refresh shows the error
  };
  return {
    refresh,
    missing: `There is no experiment ${number_}`,
    close() {
      acts.close();
      curves.close();
      history.close();
      timeline.close();
      pictures.close();
    }
  };
}
