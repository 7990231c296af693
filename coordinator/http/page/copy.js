// copy.js: makes a new experiment from one that exists: a person edits its file, has it checked, and submits it.
import {act} from "./api.js";
import {openDialog, say} from "./dialog.js";
import {el, foreign} from "./dom.js";
import {plural} from "./format.js";

const hasErrors = (said) => said.diagnostics.some((one) => one.severity === "error");

// Selects a line of a text field.
function selectLine(input, line) {
  const lines = input.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  input.focus();
  input.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  input.scrollTop = (input.scrollHeight * (line - 1)) / lines.length - input.clientHeight / 2;
}

// Lists the errors and warnings of a file. The button of one selects its line in `input`.
function problems(said, input) {
  if (!said.diagnostics.length) return null;
  const entry = ({severity, line, path, message, hint}) => el(
    "li", {}, el("span", {class: severity === "error" ? "bad" : "warn"}, severity), " ",
    line ? el("button", {type: "button", on: {click: () => selectLine(input, line)}}, `line ${line}`) : null, " ",
    path ? [foreign(path), ": "] : null, el("bdi", {}, message), hint ? ["; ", el("bdi", {}, hint)] : null);
  return el("ul", {class: "problems", "aria-label": "Errors and warnings"}, said.diagnostics.map(entry));
}

function summary(said, input) {
  const found = hasErrors(said) ? null : `${plural(said.trials, "trial")} on ${said.device}; nothing was submitted.`;
  return [found && el("p", {}, found), said.note ? el("p", {class: "warn"}, said.note) : null, problems(said, input)];
}

// Returns a name that makes a repeated submission the same experiment. crypto.randomUUID needs TLS or loopback.
const freshId = () => `page-${[...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(16)).join("-")}`;

const drafts = new Map();  // by experiment: the edited text of a dialog that was closed

// Keeps an edited text, so that Escape or another view loses no work.
function keepDraft(experiment, text) {
  if (text === experiment.file_text.replaceAll("\r\n", "\n")) return drafts.delete(experiment.experiment);
  drafts.set(experiment.experiment, text);
  say(`Nothing was submitted. "New from this" opens your edited file again, until you reload the page.`);
}

// Returns what the dialog says about the code, and about a text that was kept. The button restores the file.
function words(experiment, draft) {
  const code =
    experiment.spec?.base?.code ? `It runs the code that was packed for experiment ${experiment.experiment}.` : null;
  const restore = ({target}) => {
    const text = target.form.querySelector("textarea");
    text.value = experiment.file_text;
    text.focus();  // the button goes
    target.parentElement.remove();
  };
  const kept = draft === undefined ? null :
                                     el(
                                       "span", {}, "This is the file as you edited it before. ",
                                       el("button", {type: "button", on: {click: restore}}, "Restore the file"));
  return [code, kept].filter(Boolean);
}

// Opens the dialog.
export function openCopy(experiment) {
  const draft = drafts.get(experiment.experiment);
  const path = `experiments/${experiment.experiment}/copy`;
  const sent = new Map();  // by text: the id of its submission
  openDialog({
    title: `New experiment from ${experiment.experiment}`,
    text: words(experiment, draft),
    fields: [{name: "text", label: "Experiment file", type: "file", value: draft ?? experiment.file_text}],
    left: ({text}) => keepDraft(experiment, text),
    wide: true,
    button: "Submit",
    check: {
      button: "Check",
      run: async ({text}, inputOf) => summary(await act(path, {file_text: text, dry_run: true}), inputOf("text"))
    },
    run: async ({text}, inputOf) => {
      if (!sent.has(text)) sent.set(text, freshId());
      const said = await act(path, {file_text: text, request_id: sent.get(text)});
      if (hasErrors(said)) {
        throw Object.assign(
          new Error("The file has errors; nothing was submitted."), {content: problems(said, inputOf("text"))});
      }
      drafts.delete(experiment.experiment);
      location.hash = `#/experiments/${said.experiment}`;
      return `experiment ${said.experiment}: ${plural(said.trials, "trial")} on ${said.device}${
        said.note ? `; ${said.note}` : ""}`;
    }
  });
}
