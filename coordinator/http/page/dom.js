// dom.js: makes elements from names, properties and children. Text is text: nothing here reads markup.

// Makes an element: el("a", {href, class, on: {click}}, "text", child, …). Leaves out a property that is false, null or
// undefined.
export function el(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (key === "checked" || key === "value" || key === "selected") {
      element[key] = value;
    } else {
      element.setAttribute(key, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child))
      append(element, child);
    else if (child !== null && child !== undefined && child !== false)
      element.append(child);
  }
}

// Returns a user's text, isolated in its writing direction. The style shortens a long text; its title has the full
// text.
export function foreign(text) {
  const shown = String(text ?? "");
  return el("bdi", {title: shown.length > 24 ? shown.slice(0, 2000) : null}, shown);
}

// Replaces the children and keeps the focus and the scroll position of regions: both move to the corresponding new
// element.
export function replace(element, ...children) {
  const focused = element.contains(document.activeElement) && element !== document.activeElement ?
    standIn(element, document.activeElement) :
    null;
  const scrolled = [...element.querySelectorAll(".scroll")]
                     .filter((one) => one.scrollLeft || one.scrollTop)
                     .map((one) => [standIn(element, one), one.scrollLeft, one.scrollTop]);
  element.replaceChildren();
  append(element, children);
  focused?.()?.focus({preventScroll: true});
  for (const [find, left, top] of scrolled) find()?.scrollTo(left, top);
}

// Returns an element's name across drawings: data-focus if its text changes.
function nameOf(one) {
  return one.dataset.focus ?? one.getAttribute("aria-label") ?? one.getAttribute("href") ?? one.textContent;
}

// Returns a function that finds the new version of `one` in `element`: the same kind and name, in the same order.
function standIn(element, one) {
  const kind = one.tagName;
  const name = nameOf(one);
  const alike = () => [...element.getElementsByTagName(kind)].filter((each) => nameOf(each) === name);
  const at = alike().indexOf(one);
  return () => alike()[at];
}

// Makes a list of facts from [name, value or node]; leaves out empty values.
export function facts(pairs) {
  const list = el("dl", {class: "facts"});
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    list.append(el("dt", {}, name), el("dd", {}, value));
  }
  return list;
}

// Draws controls anew if what they show has changed. shown: all that they show; make(): returns them.
export function refreshControls(element, shown, make) {
  const signature = JSON.stringify(shown);
  if (signature === element.dataset.of) return;
  element.dataset.of = signature;
  replace(element, ...make());
}

export function choice(label, options, chosen, onChange) {
  const select = el("select", {"data-focus": label, on: {change: () => onChange(select.value)}});
  for (const option of options) {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    select.append(el("option", {value, selected: value === chosen}, text));
  }
  return el("label", {}, label, select);
}

export function check(label, checked, onChange) {
  const box = el("input", {type: "checkbox", "data-focus": label, checked, on: {change: () => onChange(box.checked)}});
  return el("label", {}, box, label);
}

// Calls `draw` whenever the box changes its size or the page its colours, until the returned function is called.
export function redrawing(box, draw) {
  const observer = new ResizeObserver(draw);
  observer.observe(box);
  const theme = matchMedia("(prefers-color-scheme: dark)");
  theme.addEventListener("change", draw);
  return () => {
    observer.disconnect();
    theme.removeEventListener("change", draw);
  };
}
