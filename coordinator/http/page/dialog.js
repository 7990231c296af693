// dialog.js: asks before an act. An act that stops work says what is lost; an act that ends it for good requires its
// number typed. The dialog shows the coordinator's errors as they are and stays open.
import {el, replace} from "./dom.js";

let last = 0;
const open = new Set();

// Closes dialogs when the view changes, since their question is about the old view.
export function closeDialogs() {
  for (const dialog of open) dialog.close();
}

// Opens a dialog. A field is {name, label, type: "text" | "password" | "number" | "check" | "choice" | "area" | "file",
// value, options?, hint?}.
// severity: "plain"; "stop"; or "end", which requires typing `typed`. run(values, inputOf) returns a message, or
// throws. check: {button, run(values, inputOf)}: another button, whose result is shown. The `content` of an error is
// shown too. left(values) is called when the dialog closes without the act.
export function openDialog({
  title,
  text = [],
  fields = [],
  button,
  severity = "plain",
  typed = "",
  run,
  check = null,
  left = null,
  wide = false
}) {
  const id = `dialog-${++last}`;
  const {inputs, rows} = makeRows(fields);
  const confirmed = severity === "end" ? el("input", {type: "text", autocomplete: "off", "data-typed": true}) : null;
  const error = el("p", {class: "error", role: "alert", hidden: true});
  const result = el("div", {role: "status"});
  const go = el(
    "button", {type: "submit", class: severity === "plain" ? "main" : "danger", disabled: severity === "end"}, button);
  // Runs an act once at a time; shows its error, and passes its result on.
  const attempt = async (act, then) => {
    if (go.disabled) return;
    go.disabled = true;
    error.hidden = true;
    replace(result);
    try {
      then(await act(valuesOf(inputs), (name) => inputs.get(name).input));
    } catch (failed) {
      error.textContent = failed.message;
      error.hidden = false;
      replace(result, failed.content);
    }
    go.disabled = false;
  };
  const checkButton = check &&
    el("button", {type: "button", on: {click: () => attempt(check.run, (found) => replace(result, found))}},
       check.button);
  const form = el(
    "form", {}, el("h2", {id}, title), text.map((line) => el("p", {}, line)), rows,
    confirmed ? el("p", {}, el("label", {class: "block"}, `Type ${typed} to confirm`, confirmed)) : null, error, result,
    el(
      "div", {class: "controls end"}, el("button", {type: "button", on: {click: () => dialog.close()}}, "Go back"),
      checkButton, go));
  const dialog = el("dialog", {"aria-labelledby": id, class: wide ? "wide" : null}, form);
  confirmed?.addEventListener("input", () => {
    go.disabled = confirmed.value.trim() !== typed;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(run, (said) => {
      left = null;
      dialog.close();
      if (said) say(said);
    });
  });
  dialog.addEventListener("close", () => {
    open.delete(dialog);
    dialog.remove();
    left?.(valuesOf(inputs));
  });
  open.add(dialog);
  document.body.append(dialog);
  dialog.showModal();
}

// Returns the inputs of these fields by name, {field, input}, and their rows.
function makeRows(fields) {
  const inputs = new Map();
  const rows = fields.map((field) => {
    const input = makeInput(field);
    inputs.set(field.name, {field, input});
    const label = field.type === "check" ? [input, field.label] : [field.label, input];
    return el(
      "p", {}, el("label", {class: field.type === "check" ? "line" : "block"}, label),
      field.hint ? el("small", {class: "dim"}, field.hint) : null);
  });
  return {inputs, rows};
}

function makeInput(field) {
  const {type, value} = field;
  if (type === "check") return el("input", {type: "checkbox", checked: Boolean(value)});
  if (type === "area") return el("textarea", {rows: 4, value: value ?? ""});
  if (type === "file") return el("textarea", {class: "file", rows: 22, wrap: "off", spellcheck: "false", value});
  if (type === "choice") {
    return el(
      "select", {}, field.options.map(([key, words]) => el("option", {value: key, selected: key === value}, words)));
  }
  return el(
    "input",
    {type, value: value ?? "", autocomplete: "off", step: type === "number" ? 1 : null, required: field.required});
}

function valuesOf(inputs) {
  const values = {};
  for (const [name, {field, input}] of inputs) {
    values[name] = field.type === "check" ? input.checked : field.type === "number" ? Number(input.value) : input.value;
  }
  return values;
}

// Reports a finished act in the page and to screen readers.
export function say(text) {
  const said = document.getElementById("said");
  replace(said, text, " ", el("button", {type: "button", on: {click: () => replace(said)}}, "Close"));
}
