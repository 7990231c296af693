// actions.js: acts on an experiment, a trial or a worker: buttons, each of which asks first.
import {act} from "./api.js";
import {openCopy} from "./copy.js";
import {openDialog} from "./dialog.js";
import {el, replace} from "./dom.js";
import {plural} from "./format.js";
import {mayCall, mayChange, watchAccess} from "./session.js";

function changeText(of, said) {
  const stopping = said.stopping ? `; ${plural(said.stopping, "trial")} save and stop` : "";
  return `${of}: ${said.changed === false ? "no change" : "done"}${stopping}`;
}

// Changes an experiment through a dialog with one or more fields.
function change(experiment, title, fields, toBody, more = {}) {
  const of = `experiment ${experiment.experiment}`;
  openDialog({
    title: `${title} of ${of}`,
    fields,
    button: "Save",
    run: async (values) => changeText(of, await act(`experiments/${experiment.experiment}/change`, toBody(values))),
    ...more
  });
}

// Reads "team=a" lines; sets labels that are missing in the text to null, which removes them.
function labelsBody(before, text) {
  const labels = Object.assign(Object.create(null), before);
  for (const key of Object.keys(labels)) labels[key] = null;
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const equals = line.indexOf("=");
    if (equals < 1) throw new Error(`'${line}' is not a label: write one key=value per line`);
    labels[line.slice(0, equals)] = line.slice(equals + 1);
  }
  for (const [key, value] of Object.entries(before))
    if (labels[key] === value) delete labels[key];
  if (!Object.keys(labels).length) throw new Error("nothing changed");
  return {labels};
}

const LIMITS = [
  ["max_concurrent", "trials at the same time (0: no limit)"],
  ["max_gpus_total", "slots at the same time (0: no limit)"],
];
const EXTENSIONS = [
  ["max_steps", "steps of every trial"],
  ["max_trials", "trials of the search"],
];

// Acts on an experiment: [{name, shown(e), open(e), may?()}]. may: whether the person may do this, if it does not
// depend on whose experiment it is.
const OF_EXPERIMENT = [
  {
    name: "Pause",
    shown: (e) => !e.ended_at && !e.paused,
    open: (e) => openDialog({
      title: `Pause experiment ${e.experiment}?`,
      text: [
        `No trial of it starts until it is resumed.`,
        e.running ? `${plural(e.running, "running trial")} will save and stop, and continue from there later.` : null
      ].filter(Boolean),
      fields: e.running ? [{name: "let_run", label: "let running trials finish", type: "check"}] : [],
      button: "Pause",
      severity: e.running ? "stop" : "plain",
      run: async (values) =>
        changeText(`experiment ${e.experiment}`, await act(`experiments/${e.experiment}/pause`, values))
    })
  },
  {
    name: "Resume",
    shown: (e) => e.paused,
    open: (e) => openDialog({
      title: `Resume experiment ${e.experiment}?`,
      text: ["Its trials wait for slots again."],
      button: "Resume",
      run: async () => changeText(`experiment ${e.experiment}`, await act(`experiments/${e.experiment}/resume`, {}))
    })
  },
  {
    name: "Priority",
    shown: (e) => !e.ended_at,
    open: (e) => change(
      e, "Priority", [{
        name: "priority",
        label: "Priority (higher runs first)",
        type: "number",
        value: e.priority,
        hint: "running trials of lower priority may have to save and stop"
      }],
      ({priority}) => ({priority}))
  },
  {
    name: "Limits",
    shown: (e) => !e.ended_at,
    open: (e) => change(
      e, "Limits", [
        {name: "which", label: "Limit", type: "choice", options: LIMITS, value: "max_concurrent"},
        {name: "value", label: "Number", type: "number", value: e.spec?.search?.max_concurrent ?? 0}
      ],
      ({which, value}) => ({[which]: value}))
  },
  {
    name: "Extend",
    shown: (e) => !e.ended_at,
    open: (e) => change(
      e, "Extension", [
        {name: "which", label: "Extended value", type: "choice", options: EXTENSIONS, value: "max_steps"}, {
          name: "value",
          label: "New total",
          type: "number",
          value: "",
          required: true,
          hint: "running trials save, and continue to the new end"
        }
      ],
      ({which, value}) => ({[which]: value}))
  },
  {
    name: "Retry",
    shown: (e) => e.failed + e.cancelled > 0,
    open: (e) => openDialog({
      title: `Run trials of experiment ${e.experiment} again?`,
      text: ["Each trial continues from its newest checkpoint."],
      fields: [
        {name: "failed", label: `failed trials (${e.failed})`, type: "check", value: e.failed > 0},
        {name: "cancelled", label: `cancelled trials (${e.cancelled})`, type: "check", value: e.failed === 0}
      ],
      button: "Retry",
      run: async (values) => {
        const said = await act(`experiments/${e.experiment}/retry`, values);
        return `experiment ${e.experiment}: ${plural(said.trials, "trial")} waiting to run again`;
      }
    })
  },
  {
    name: "Name",
    shown: () => true,
    open: (e) => change(e, "Name", [{name: "name", label: "Name", type: "text", value: e.name}], ({name}) => ({name}))
  },
  {
    name: "Note",
    shown: () => true,
    open: (e) => change(
      e, "Note", [{name: "note", label: "Note (empty: none)", type: "area", value: e.note}],
      ({note}) => ({note}))
  },
  {
    name: "Labels",
    shown: () => true,
    open: (e) => change(
      e, "Labels", [{
        name: "labels",
        label: "Labels, one key=value per line",
        type: "area",
        value: Object.entries(e.labels).map(([key, value]) => `${key}=${value}`).join("\n")
      }],
      ({labels}) => labelsBody(e.labels, labels))
  },
  {
    name: "New from this",
    shown: (e) => Boolean(e.file_text),
    may: () => mayCall("Submit"),
    open: openCopy
  },
  {
    name: "Archive",
    shown: (e) => e.ended_at && !e.archived,
    open: (e) => change(e, "Archiving", [], () => ({archived: true}), {
      text: ["Lists show it only together with archived experiments. Nothing is deleted."],
      button: "Archive"
    })
  },
  {
    name: "Unarchive",
    shown: (e) => e.archived,
    open: (e) => {
      const more = {text: ["Lists show it again."], button: "Unarchive"};
      change(e, "Archiving", [], () => ({archived: false}), more);
    }
  },
  {
    name: "Cancel",
    danger: true,
    shown: (e) => !e.ended_at,
    open: (e) => openDialog({
      title: `Cancel experiment ${e.experiment}?`,
      text: [
        `${plural(e.running, "running trial")} and ${plural(e.pending, "waiting trial")} end now. Recorded data stays.`,
        "Running trials do not save first: a retry continues from the last checkpoint."
      ],
      fields: [{name: "reason", label: "Reason (recorded with the trials)", type: "text", value: ""}],
      button: "Cancel it",
      severity: "end",
      typed: String(e.experiment),
      run: async ({reason}) => {
        const said = await act(`experiments/${e.experiment}/cancel`, reason ? {reason} : {});
        return `experiment ${e.experiment}: cancelling ${plural(said.trials, "trial")}`;
      }
    })
  },
];

const OF_TRIAL = [
  {
    name: "Retry",
    shown: (t) => t.state === "failed" || t.state === "cancelled",
    open: (t) => openDialog({
      title: `Run trial ${t.id} again?`,
      text: ["It continues from its newest checkpoint."],
      button: "Retry",
      run: async () => {
        const said = await act(`experiments/${t.experiment}/trials/${t.trial}/retry`, {});
        return `trial ${t.id}: ${said.trials ? "waiting to run again" : "nothing to run again"}`;
      }
    })
  },
  {
    name: "Cancel",
    danger: true,
    shown: (t) => !t.ended_at,
    open: (t) => openDialog({
      title: `Cancel trial ${t.id}?`,
      text: ["It ends now, at step " + t.step + ", and does not save first. Recorded data stays."],
      fields: [{name: "reason", label: "Reason (recorded with the trial)", type: "text", value: ""}],
      button: "Cancel it",
      severity: "stop",
      run: async ({reason}) => {
        await act(`experiments/${t.experiment}/trials/${t.trial}/cancel`, reason ? {reason} : {});
        return `trial ${t.id}: cancelling`;
      }
    })
  },
];

const METHODS = {
  Cancel: "Cancel",
  Retry: "Retry"
};

// A bar of buttons that changes only where needed, so that it keeps the focus. set(subject, submittedBy) sets its
// subject.
class Bar {
  constructor(actions, label) {
    this.actions = actions;
    this.element = el("div", {class: "controls acts", role: "group", "aria-label": label, hidden: true});
    this.close = watchAccess(() => this.#draw());
  }

  set(subject, submittedBy) {
    this.subject = subject;
    this.submittedBy = submittedBy;
    this.#draw();
  }

  #draw() {
    if (!this.subject) return;
    const may = (one) => one.may?.() ?? mayChange(METHODS[one.name] ?? "Change", this.submittedBy);
    const shown = this.actions.filter((one) => one.shown(this.subject) && may(one));
    this.element.hidden = shown.length === 0;
    const signature = shown.map((one) => one.name).join();
    if (signature === this.signature) return;
    this.signature = signature;
    const focused = this.element.contains(document.activeElement);
    replace(
      this.element,
      shown.map(
        (one) => el(
          "button", {type: "button", class: one.danger ? "danger" : null, on: {click: () => one.open(this.subject)}},
          one.name === "Resume" ? one.name : `${one.name}…`)));
    if (focused) this.element.querySelector("button")?.focus();
  }
}

export function experimentBar() { return new Bar(OF_EXPERIMENT, "Change the experiment"); }
export function trialBar() { return new Bar(OF_TRIAL, "Change the trial"); }

// Returns the button that drains a slot, or gives it trials again.
export function workerButton(worker) {
  if (!mayChange("MarkWorker", null)) return null;
  const marked = Boolean(worker.mark);
  const open = () => openDialog({
    title: marked ? `Undrain ${worker.worker}?` : `Drain ${worker.worker}?`,
    text:
      [marked ? `It is out of service: ${worker.mark}` :
                "A running trial saves and moves to another slot. No trial starts here until the slot is undrained."],
    fields: marked ? [] : [{name: "reason", label: "Reason (shown to others)", type: "text", value: ""}],
    button: marked ? "Undrain" : "Drain",
    severity: marked ? "plain" : "stop",
    run: async ({reason}) => {
      const said = await act("workers/mark", {worker: worker.worker, drain: !marked, reason: reason ?? ""});
      return `${worker.worker}: ${marked ? "gets trials again" : "draining"}${
        said.stopping ? `; ${plural(said.stopping, "trial")} save and leave` : ""}`;
    }
  });
  return el(
    "button", {type: "button", "aria-label": `${marked ? "undrain" : "drain"} ${worker.worker}`, on: {click: open}},
    marked ? "Undrain" : "Drain…");
}
