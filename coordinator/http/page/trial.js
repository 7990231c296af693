// trial.js: one trial: curves, the time of a step by phase, traffic between its ranks, its attempts, its log, its exact
// file and its placement.
import {trialBar} from "./actions.js";
import {get, getAll, getCurves} from "./api.js";
import {getEvaluations, looks, pointsFor} from "./curves.js";
import {el, facts, foreign, replace} from "./dom.js";
import {any, assignments, bytes, duration, number, outcome, percent, progress, share, time, words} from "./format.js";
import {LogView} from "./log_view.js";
import {Plot} from "./plot.js";
import {isProgram} from "./program.js";
import {objectivesOf} from "./ranks.js";
import {seriesOf, textOfZoom, zoomOf} from "./series.js";

const PHASES = [
  "data_seconds", "forward_seconds", "backward_seconds", "comm_exposed_seconds", "optimizer_seconds", "other_seconds",
  "eval_seconds", "checkpoint_seconds"
];

const OWN_MOST = 12;  // metrics of a program's own

// Returns where the processes of a hung attempt stood, the innermost frame first.
function hungIn({ranks}) {
  const line =
    (rank, {doing, frames}) => [`rank ${rank}, ${doing}`, frames.join(", called by ")].filter(Boolean).join(": ");
  const lines = ranks.flatMap(({rank, processes}) => processes.map((one) => line(rank, one)));
  if (!lines.length) return null;
  return ["Hung in:", el("ul", {class: "hung"}, lines.map((text) => el("li", {}, foreign(text))))];
}

function story(trial) {
  return el("ol", {class: "story"}, trial.attempt_list.map((attempt) => {
    const ended = attempt.ended_at !== null;
    const word = ended ? attempt.cause : attempt.running_at ? "running" : "starting";
    const lost = attempt.attempt > 1 && attempt.resumed_step === 0;
    return el(
      "li", {value: attempt.attempt},
      el(
        "span",
        {class: word === "finished" ? "good" :
           word === "stopped_early" ? "dim" :
           ended                    ? "bad" :
                                      "busy"},
        ended ? `ended as ${words(word)}` : word),
      ` at step ${number(attempt.last_step)}`,
      attempt.resumed_step ? `, resumed from step ${number(attempt.resumed_step)}` :
        lost ? ", from the start: there was no checkpoint" :
               "",
      attempt.rank !== null && ended && word !== "finished" ? `, decided by rank ${attempt.rank}` : "", ". ",
      attempt.message ? [foreign(attempt.message), " "] : null,
      attempt.stop_reason && !(attempt.message ?? "").includes(attempt.stop_reason) ?
        ["Stop requested: ", foreign(attempt.stop_reason), ". "] :
        null,
      attempt.uncharged ? "This end does not count as a retry. " : null,
      trial.hang?.attempt === attempt.attempt ? hungIn(trial.hang) : null, el("br"),
      el(
        "span", {class: "dim"}, "from ", time(attempt.started_at),
        attempt.running_at ? [", training since ", time(attempt.running_at)] : null,
        ended ? [", until ", time(attempt.ended_at)] : null,
        attempt.reason ? [el("br"), "placed: ", foreign(attempt.reason)] : null),
      el(
        "ul", {class: "dim"},
        attempt.members.map(
          (member) => el(
            "li", {}, `rank ${member.rank}: `,
            foreign(`${member.worker ?? ""} on ${member.host ?? ""}${
              member.device_name ? `, ${member.device_name}` : ""}`)))));
  }));
}

function collectives(trial) {
  const list = trial.latest?.collectives ?? [];
  if (!list.length) {
    const one = trial.world_size <= 1;
    return el("p", {class: "dim"}, one ? "The trial has one rank." : "No collectives yet.");
  }
  const head = ["operation", "axis", "ranks", "count", "MB", "ms", "wait, ms", "bus GB/s"];
  return el(
    "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Collectives"},
    el(
      "table", {}, el("caption", {}, "Collectives of the newest logged step"),
      el(
        "thead", {},
        el("tr", {}, head.map((text, i) => el("th", {scope: "col", class: i > 1 ? "number" : null}, text)))),
      el(
        "tbody", {},
        list.map(
          (one) => el("tr", {}, [
            one.op, one.axis, one.ranks, number(one.count), number(one.bytes / 1e6, 4), number(one.seconds * 1e3, 4),
            number(one.exposed_seconds * 1e3, 4),
            one.seconds > 0 ? (one.bus_bytes / one.seconds / 1e9).toFixed(2) : null
          ].map((text, i) => el("td", {class: i > 1 ? "number" : null}, text === null ? "–" : String(text))))))));
}

// Returns how long the pipeline's stages waited in the newest logged step, and the formula's value.
function bubble(trial) {
  if (!Number.isFinite(trial.stage_wait_ratio)) return null;
  return `${percent(trial.stage_wait_ratio)} of a step in which stages waited` +
    (trial.bubble_ratio === null ? "" : `; ${percent(trial.bubble_ratio)} by the formula, if all stages cost the same`);
}

function checkpoints(list) {
  if (!list.length) return el("p", {class: "dim"}, "No checkpoints yet.");
  const cells = (one) =>
    [number(one.step), one.attempt, bytes(one.bytes), one.best ? "best" : "", foreign(one.path),
     foreign(one.seen_by.join(", ") || "no connected worker")];
  const head = ["step", "attempt", "size", "", "path in the storage", "seen by"];
  return el(
    "div", {class: "scroll", tabindex: 0, role: "region", "aria-label": "Checkpoints"},
    el(
      "table", {}, el("caption", {}, "Checkpoints"),
      el(
        "thead", {},
        el("tr", {}, head.map((text, i) => el("th", {scope: "col", class: i < 3 ? "number" : null}, text)))),
      el(
        "tbody", {},
        list.map(
          (one) => el("tr", {}, cells(one).map((cell, i) => el("td", {class: i < 3 ? "number" : null}, cell)))))));
}

function evaluations(list) {
  const texts = list.filter((one) => one.samples.length);
  if (!texts.length) return null;
  const newest = texts.at(-1);
  return el(
    "details", {}, el("summary", {}, `Generated texts at step ${number(newest.step)}`),
    newest.samples.map((text) => el("pre", {class: "foreign"}, text)));
}

export function showTrial({root, params, settings, keep, title}) {
  const base = `experiments/${params[0]}/trials/${params[1]}`;
  const head = el("div");
  const acts = trialBar();
  const told = el("div");
  const ran = el("div");
  const sent = el("div");
  const samples = el("div");
  const saved = el("div");
  const file = el("pre", {class: "foreign"});
  const plots = [];
  const plot = (label, low = true) => {
    const onFar = (far) => keep({far: far ? "1" : null});
    plots.push(new Plot({label, low, zoom: zoomOf(settings.zoom), onZoom: zoom, far: settings.far === "1", onFar}));
    return plots.at(-1);
  };
  const loss = plot("Loss", false);
  const rate = plot("Learning rate");
  const norm = plot("Gradient norm");
  const speed = plot("Tokens per second");
  const phases = plot("Time by phase");
  const columns = el("div", {class: "columns"}, rate.element, norm.element, speed.element, phases.element);
  const nothing = el("p", {class: "dim", hidden: true}, "No values to plot yet.");
  const own = new Map();  // by name: the plot of a program's metric, and its series
  const log = new LogView(base, settings, keep);
  const controls = el("div", {class: "controls"});
  const section = (name, ...children) => el("section", {"aria-label": name}, el("h2", {}, name), ...children);
  const collectivesShown = section("Collectives", sent);
  replace(
    root, head, acts.element, section("Curves", controls, loss.element, columns, nothing), samples, collectivesShown,
    section("Attempts", told), section("Log", log.element), section("Checkpoints", saved), section("Placement", ran),
    el(
      "details", {on: {toggle: () => showFile()}},
      el("summary", {}, "Exact file: this trial alone, with every value resolved"), file));
  const set = (change) => {
    Object.assign(settings, change);
    keep(change);
    draw();
  };
  replace(controls, looks(settings, "log loss", set));
  let trial = null;
  let curves = null;
  let evaluated = null;
  let fileShown = false;
  let experiment = null;
  let kept = null;

  // Shows the same steps in all charts of a trial.
  function zoom(range) {
    settings.zoom = textOfZoom(range);
    keep({zoom: settings.zoom});
    for (const one of plots) one.show(range);
  }

  async function showFile() {
    if (fileShown) return;
    fileShown = true;
    try {
      file.textContent = (await get(`${base}/file`)).text;
    } catch (error) {
      fileShown = false;
      file.textContent = error.message;
    }
  }

  function drawFacts() {
    const t = trial;
    const early = t.cause === "stopped_early";
    const objectives = objectivesOf(experiment);
    title(`${t.id}`);
    replace(
      head,
      el(
        "h1", {}, el("a", {href: `#/experiments/${t.experiment}`}, String(t.experiment)), `/${t.trial} `,
        el("bdi", {class: "dim"}, assignments(t))),
      el("p", {}, el("bdi", {}, t.explanation)), facts([
        ["state", el("span", {}, outcome(t), early && t.message ? [": ", el("bdi", {}, t.message)] : null)],
        ["message", t.message && !early ? foreign(t.message) : null],
        [
          "progress",
          el(
            "span", {}, progress(share(t), "progress of the trial"), ` step ${number(t.step)}`,
            t.target_steps ? ` of ${number(t.target_steps)}` : "")
        ],
        ["time left", t.ended_at ? null : duration(t.eta_seconds)],
        [
          "loss",
          t.latest && !(isProgram(experiment) && t.latest.loss === null) && !objectives.includes("loss") ?
            number(t.latest.loss) :
            null
        ],
        [
          "val_loss",
          t.val_loss === null || objectives.includes("val_loss") ?
            null :
            `${number(t.val_loss)}, best ${number(t.best_val_loss)}` +
              (t.best_val_step ? ` at step ${number(t.best_val_step)}` : "")
        ],
        [
          experiment.metric || "metric",
          t.metric_value === null || experiment.metric === "val_loss" || objectives.length ?
            null :
            `${number(t.metric_value)}${t.metric_step ? ` at step ${number(t.metric_step)}` : ""}`
        ],
        ...objectives.map((name, i) => [name, number(t.objectives?.[i] ?? null)]),
        ["tokens/s", t.tokens_per_second === null ? null : number(t.tokens_per_second, 4)],
        [
          "communication",
          t.comm_ratio === null ? null : `${percent(t.comm_ratio)} of a step, ${percent(t.comm_exposed_ratio)} exposed`
        ],
        ["pipeline", bubble(t)],
        ["chosen", t.chosen ? foreign(t.chosen) : null],
        ["started", time(t.started_at)],
        ["ended", time(t.ended_at)],
      ]));
    replace(
      told, t.attempt_list.length ? story(t) : el("p", {class: "dim"}, "No attempts yet."),
      t.takeover_list.length ?
        el(
          "ol", {class: "story"},
          t.takeover_list.map(
            (one) => el(
              "li", {}, `at step ${number(one.step)} it took over trial ${one.from_trial}: `, foreign(one.reason)))) :
        null);
    collectivesShown.hidden = isProgram(experiment) && !t.latest?.collectives?.length;
    replace(sent, collectives(t));
    const p = t.provenance;
    const c = t.last_checkpoint;
    replace(ran, facts([
              ["workers", t.workers.length ? foreign(t.workers.join(", ")) : null],
              ["ranks", t.world_size],
              ["model", t.model_parameters ? `${number(t.model_parameters)} parameters` : null],
              [
                "build",
                p?.program_version ? foreign([p.program_version, p.program_revision].filter(Boolean).join(" ")) : null
              ],
              [
                "LibTorch",
                p?.torch_version ? foreign([
                  p.torch_version, p.cuda_version ? `CUDA ${p.cuda_version}` : "",
                  p.nccl_version ? `NCCL ${p.nccl_version}` : ""
                ].filter(Boolean).join(", ")) :
                                   null
              ],
              [
                "device",
                p?.device_name ? foreign(`${t.device ?? ""}, ${p.device_name}, ${p.threads} threads per rank`) : null
              ],
              ["host", p?.host ? foreign(p.host) : null],
              ["data", t.data_fingerprint ? foreign(t.data_fingerprint) : null],
              ["seed", any(t.seed)],
              [
                "newest checkpoint",
                c ? foreign(`${c.path} (step ${c.step}, ${bytes(c.bytes)}, storage ${c.storage_id})`) : null
              ],
            ]));
  }

  const lookOf = () => ({logX: settings.logx === "1", smooth: Number(settings.smooth ?? 0), x: "step"});

  function draw() {
    if (!curves) return;
    const options = lookOf();
    const one = (name, key, colour, extra = {}) => ({key, name, colour, ...seriesOf(curves[key]), ...extra});
    const only = isProgram(experiment) && !curves.loss.values.some((v) => v !== null);  // val_loss
    loss.label = only ? "val_loss" : "Loss";
    loss.set(
      [one("loss", "loss", 0), one("val_loss", "val_loss", 1, {strong: true})],
      {...options, logY: settings.logy === "1", y: only ? "val_loss" : "loss", goal: "minimize"});
    rate.set([one("learning rate", "learning_rate", 1)], {...options, smooth: 0, y: "learning rate"});
    norm.set([one("gradient norm", "grad_norm", 2)], {...options, y: "gradient norm"});
    speed.set([one("tokens/s", "tokens_per_second", 4)], {...options, y: "tokens/s"});
    phases.set(
      PHASES.map((key, i) => one(key.replace("_seconds", "").replace("_", " "), key, i))
        .filter((series) => series.ys.some((v) => v > 0)),
      {...options, y: "seconds since the last row"});
    drawOwn();
    hideEmpty();
  }

  function drawOwn() {
    for (const [name, {chart, series}] of own) chart.set([series], {...lookOf(), y: name});
  }

  // Hides charts that a program reports no values for.
  function hideEmpty() {
    if (!isProgram(experiment)) return;
    const empty = (chart) => !chart.series.some((one) => one.ys.some((v) => Number.isFinite(v) && v !== 0));
    for (const chart of [loss, rate, norm, speed, phases]) chart.element.hidden = empty(chart);
    nothing.hidden = plots.some((chart) => !chart.element.hidden);
  }

  // Reads measured metrics that have no chart above.
  async function readOwn(list, signal) {
    const told = new Set(list.flatMap((one) => one.metrics.map((metric) => metric.name)));
    const first = told.has(experiment.metric) ? [experiment.metric] : [];
    const names = [...new Set([...first, ...told])].slice(0, OWN_MOST);
    if (!names.length) return;
    const read = await getCurves(trial.experiment, [trial.trial], names, pointsFor(names.length), signal);
    names.forEach((name, i) => {
      const chart = own.get(name)?.chart ?? plot(name);
      if (!own.has(name)) placeOwn(name, chart);
      own.set(
        name, {chart, series: {key: name, name, colour: (i + 5) % 8, ...seriesOf(read.get(trial.trial)?.[name])}});
    });
    drawOwn();
    hideEmpty();
  }

  // Places a program's metric; the one that compares trials comes first.
  function placeOwn(name, chart) {
    if (name === experiment.metric && isProgram(experiment)) {
      chart.box.classList.remove("low");
      loss.element.before(chart.element);
    } else {
      columns.append(chart.element);
    }
  }

  async function readCheckpoints(signal) {
    const list = await getAll(`experiments/${trial.experiment}/checkpoints?trial=${trial.trial}`, signal);
    if (list === kept) return;
    kept = list;
    replace(saved, checkpoints(list));
  }

  return {
    missing: `There is no trial ${params[0]}/${params[1]}`,
    async refresh(signal) {
      const found = await get(base, signal);
      // These properties of the experiment do not change: its owner, its command, its metric.
      experiment ??= await get(`experiments/${found.experiment}`, signal);
      if (found !== trial) {
        trial = found;
        drawFacts();
        acts.set(trial, experiment.submitted_by ?? "");
        log.setRanks(trial.world_size);
      }
      const metrics = ["loss", "val_loss", "learning_rate", "grad_norm", "tokens_per_second", ...PHASES];
      const read = await getCurves(trial.experiment, [trial.trial], metrics, pointsFor(metrics.length), signal);
      const now = read.get(trial.trial);
      if (now !== curves) {
        curves = now;
        draw();
      }
      await log.refresh(signal);
      await readCheckpoints(signal);
      const page = await getEvaluations(trial.experiment, trial.trial, signal);
      if (page === evaluated) return;
      evaluated = page;
      const list = page.items;
      await readOwn(list, signal);
      const newest = list.filter((one) => one.samples.length).at(-1);
      if (String(newest?.step) !== samples.dataset.of) {
        samples.dataset.of = String(newest?.step);
        replace(samples, evaluations(list));
      }
    },
    close() {
      acts.close();
      for (const one of plots) one.close();
    },
  };
}
