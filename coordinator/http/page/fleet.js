// fleet.js: every slot by its host, what it does, and who waits for one.
import {get, getAll} from "./api.js";
import {el, foreign, replace} from "./dom.js";
import {duration, number, stateClass} from "./format.js";
import {Table} from "./table.js";

// "12/3#2 rank 0" leads to its trial.
function doing(worker) {
  const found = /^(\d+)\/(\d+)#\d+/.exec(worker.doing ?? "");
  if (!found) return worker.doing ? foreign(worker.doing) : null;
  return el("a", {href: `#/experiments/${found[1]}/trials/${found[2]}`}, worker.doing);
}

function slot(worker) {
  const word = worker.state ?? "unknown";
  const kind = stateClass(word);
  return el(
    "li", {class: kind === "good" ? "idle" : kind}, foreign(worker.worker), " ", el("span", {class: kind}, word), " ",
    doing(worker), el("br"),
    el(
      "span", {class: "dim"}, foreign([worker.device, worker.device_name].filter(Boolean).join(", ")),
      word === "lost" || worker.silence_seconds > 5 ? ` · silent for ${duration(worker.silence_seconds)}` : "",
      worker.program_version ? ` · ${worker.program_version}` : ""),
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
  {key: "attempts", title: "Attempts so far", number: true, value: (t) => t.attempts},
  {
    key: "waiting",
    title: "Why it waits",
    value: (t) => t.waiting,
    cell: (t) => el("bdi", {class: "long"}, t.waiting ?? "")
  },
];

export function showFleet({root, settings, keep, title}) {
  title("Fleet");
  const summary = el("p", {class: "dim"});
  const hosts = el("div", {class: "hosts"});
  const queueTitle = el("h2", {}, "Queue");
  const queue = new Table({caption: "Trials that wait", columns: QUEUE, key: (t) => t.id, settings, onSettings: keep});
  replace(
    root, el("h1", {}, "Fleet"), summary, el("section", {"aria-label": "Slots by host"}, hosts),
    el("section", {"aria-label": "Queue"}, queueTitle, queue.element));
  let shown = null;

  function draw(workers) {
    const by = new Map();
    const counts = new Map();
    for (const worker of workers) {
      const host = worker.host ?? "no host known";
      if (!by.has(host)) by.set(host, []);
      by.get(host).push(worker);
      counts.set(worker.state, (counts.get(worker.state) ?? 0) + 1);
    }
    summary.textContent = workers.length === 0 ?
      "No worker is connected: dtworker, or dtctl up, starts some." :
      `${number(workers.length)} slots on ${by.size} ${by.size === 1 ? "host" : "hosts"}: ` +
        [...counts].sort().map(([word, count]) => `${count} ${word}`).join(", ");
    replace(hosts, [...by].sort(([a], [b]) => a.localeCompare(b, "en", {numeric: true})).map(([host, list]) => {
      const busy = list.filter((worker) => worker.state === "busy").length;
      return el(
        "section", {class: "host"},
        el("h3", {}, foreign(host), el("span", {class: "dim"}, ` ${busy} of ${list.length} busy`)),
        el("ul", {}, list.map(slot)));
    }));
  }

  return {
    async refresh(signal) {
      const workers = await getAll("workers", signal);
      const waiting = await get("queue", signal);
      const signature = JSON.stringify(workers, (key, value) => (key === "silence_seconds" ? value > 5 : value));
      if (signature !== shown) draw(workers);
      shown = signature;
      queueTitle.textContent = `Queue (${number(waiting.pending)} waiting${
        waiting.items.length < waiting.pending ? `, the first ${waiting.items.length} shown` : ""})`;
      queue.update(waiting.items);
    },
    close() {}
  };
}
