// fleet.js: every slot by host, what it runs, and the queue of trials.
import {workerButton} from "./actions.js";
import {get, getAll} from "./api.js";
import {el, foreign, replace} from "./dom.js";
import {bytes, duration, number, percent, plural, progress, stateClass, time, utilization} from "./format.js";
import {watchAccess} from "./session.js";
import {Table} from "./table.js";

const EXPERIMENTS_MOST = 8;  // experiments whose trials are read for the use of their slots

// Matches the experiment and the trial in "12/3#2 rank 0".
function trialOf(worker) { return /^(\d+)\/(\d+)#\d+/.exec(worker.doing ?? ""); }

// Returns how well the trial on a busy slot uses it, from its newest logged step.
function use(trial) {
  const row = trial?.latest;
  if (!row) return null;
  const used = utilization(row);
  const parts = [
    used === null ? null : `${percent(used)} MFU`,
    row.memory_peak_bytes ? `${bytes(row.memory_peak_bytes)} at most` : null,
    trial.world_size > 1 && trial.comm_exposed_ratio !== null ?
      `${percent(trial.comm_exposed_ratio)} of a step is exposed communication` :
      null,
    trial.tokens_per_second ? `${number(trial.tokens_per_second, 4)} tokens/s` : null,
  ].filter(Boolean);
  return parts.length ? [el("br"), el("span", {class: "dim"}, parts.join(" · "))] : null;
}

function doing(worker) {
  const found = trialOf(worker);
  if (!found) return worker.doing ? foreign(worker.doing) : null;
  return el("a", {href: `#/experiments/${found[1]}/trials/${found[2]}`}, worker.doing);
}

function slot(worker, trials) {
  const word = worker.state ?? "unknown";
  const kind = stateClass(word);
  return el(
    "li", {class: kind === "good" ? "idle" : kind}, workerButton(worker), foreign(worker.worker), " ",
    el("span", {class: kind}, word), " ", doing(worker), el("br"),
    el(
      "span", {class: "dim"}, foreign([worker.device, worker.device_name].filter(Boolean).join(", ")),
      word === "lost" || worker.silence_seconds > 5 ? ` · silent for ${duration(worker.silence_seconds)}` : "",
      worker.program_version ? ` · ${worker.program_version}` : ""),
    use(trials.get(trialOf(worker)?.slice(1, 3).join("/"))),
    worker.mark ? [el("br"), el("span", {class: "warn"}, foreign(worker.mark))] : null);
}

const QUEUE = [
  {
    key: "id",
    title: "Trial",
    value: (t) => t.experiment * 1e5 + t.trial,
    cell: (t) => el("a", {href: `#/experiments/${t.experiment}/trials/${t.trial}`}, t.id)
  },
  {key: "name", title: "Experiment", value: (t) => t.name, cell: (t) => foreign(t.name)},
  {key: "priority", title: "Priority", number: true, value: (t) => t.priority},
  {key: "attempts", title: "Attempts", number: true, value: (t) => t.attempts},
  {key: "waiting", title: "Reason", value: (t) => t.waiting, cell: (t) => el("bdi", {class: "long"}, t.waiting ?? "")},
];

const QUOTAS = [
  {
    key: "whose",
    title: "Quota",
    value: (q) => (q.user ? `user ${q.user}` : `label ${q.label}`),
    cell: (q) => [q.user ? "user " : "label ", foreign(q.user || q.label)]
  },
  {key: "held", title: "Slots held", number: true, value: (q) => q.held},
  {key: "slots", title: "Limit", number: true, value: (q) => q.slots},
  {key: "set_by", title: "Set by", value: (q) => q.set_by, cell: (q) => foreign(q.set_by ?? "")},
  {key: "set_at", title: "Since", value: (q) => q.set_at, cell: (q) => time(q.set_at)},
];

// Shows counts of notices, if there are any.
function notices(of) {
  if (of.waiting + of.delivered + of.failed + of.dropped === 0) return null;
  return [
    el("h2", {}, "Notices"),
    el(
      "p", {},
      `${number(of.waiting)} waiting, ${number(of.delivered)} delivered since the start, ${
        number(of.failed)} given up` +
        (of.dropped ? `, ${number(of.dropped)} not raised because too many waited` : "")),
    of.failing.length ?
      el(
        "ul", {},
        of.failing.map(
          (one) => el("li", {class: "bad"}, foreign(one.receiver), " does not accept notices: ", foreign(one.why)))) :
      null
  ];
}

export function showFleet({root, settings, keep, title}) {
  title("Fleet");
  const summary = el("p", {class: "dim"});
  const usage = el("p");
  const hosts = el("div", {class: "hosts"});
  const told = el("section", {"aria-label": "Notices"});
  const bounds = el("section", {"aria-label": "Quotas", hidden: true});
  const queueTitle = el("h2", {}, "Queue");
  const queue = new Table({caption: "Waiting trials", columns: QUEUE, key: (t) => t.id, settings, onSettings: keep});
  // Keeps no settings of this table: the queue's settings use the same names.
  const quotas = new Table(
    {caption: "Quotas", columns: QUOTAS, key: (q) => `${q.user}=${q.label}`, settings: {}, onSettings: () => {}});
  replace(bounds, el("h2", {}, "Quotas"), quotas.element);
  replace(
    root, el("h1", {}, "Fleet"), usage, summary, el("section", {"aria-label": "Slots by host"}, hosts),
    el("section", {"aria-label": "Queue"}, queueTitle, queue.element), bounds, told);
  let shown = null;
  let trials = new Map();
  let asked = [];
  let noticed = null;

  function draw(workers) {
    const busy = workers.filter((worker) => worker.state === "busy").length;
    const there = workers.filter((worker) => worker.state !== "lost").length;
    replace(
      usage,
      there ? ["In use: ", progress(busy / there, "share of slots in use"), ` ${busy} of ${there} slots`] : null);
    const by = new Map();
    const counts = new Map();
    for (const worker of workers) {
      const host = worker.host ?? "unknown host";
      if (!by.has(host)) by.set(host, []);
      by.get(host).push(worker);
      counts.set(worker.state, (counts.get(worker.state) ?? 0) + 1);
    }
    summary.textContent = workers.length === 0 ? "No worker is connected. Start workers with dtworker or dtctl up." :
                                                 `${plural(workers.length, "slot")} on ${plural(by.size, "host")}: ` +
        [...counts].sort().map(([word, count]) => `${count} ${word}`).join(", ");
    replace(hosts, [...by].sort(([a], [b]) => a.localeCompare(b, "en", {numeric: true})).map(([host, list]) => {
      const working = list.filter((worker) => worker.state === "busy").length;
      return el(
        "section", {class: "host"},
        el("h3", {}, foreign(host), el("span", {class: "dim"}, ` ${working} of ${list.length} busy`)),
        el("ul", {}, list.map((worker) => slot(worker, trials))));
    }));
  }

  // Reads the trials that run on slots, by "12/3".
  async function readTrials(workers, signal) {
    const experiments = [...new Set(workers.map((worker) => trialOf(worker)?.[1]).filter(Boolean))];
    const lists = [];
    for (const experiment of experiments.slice(0, EXPERIMENTS_MOST))
      lists.push(await getAll(`experiments/${experiment}/trials?state=running`, signal));
    const same = lists.length === asked.length && lists.every((list, i) => list === asked[i]);
    if (!same) trials = new Map(lists.flat().map((trial) => [trial.id, trial]));
    asked = lists;
    return !same;
  }

  let listed = [];
  const close = watchAccess(() => {
    if (shown !== null) draw(listed);
  });

  return {
    async refresh(signal) {
      const workers = await getAll("workers", signal);
      const waiting = await get("queue", signal);
      const signature = JSON.stringify(workers, (key, value) => (key === "silence_seconds" ? value > 5 : value));
      const moved = await readTrials(workers, signal);
      listed = workers;
      if (signature !== shown || moved) draw(workers);
      shown = signature;
      queueTitle.textContent = `Queue (${number(waiting.pending)} waiting${
        waiting.items.length < waiting.pending ? `, the first ${waiting.items.length} shown` : ""})`;
      queue.update(waiting.items);
      const bounded = (await get("quotas", signal)).items;
      bounds.hidden = bounded.length === 0;
      quotas.update(bounded);
      const sent = await get("notices", signal);
      if (sent !== noticed) replace(told, notices(sent));
      noticed = sent;
    },
    close,
  };
}
