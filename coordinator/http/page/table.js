// table.js: a table that sorts, hides columns, and lets rows be chosen. It keeps unchanged cells, so that the focus and
// a text selection survive a refresh.
import {check, el, replace} from "./dom.js";
import {NONE} from "./format.js";

const ROWS_SHOWN = 200;

function compare(a, b) {
  const none = (v) => v === null || v === undefined || Number.isNaN(v);
  if (none(a) || none(b)) return none(a) - none(b);
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", {numeric: true});
}

export class Table {
  // A column is {key, title, value(row), cell(row)?, number?, hidden?}. settings: {sort, hide, show} as texts of the
  // address; hide and show have the columns that differ from the default. `onSettings(settings)` is called when they
  // change. choose: {has(key), toggle(key, on)} or null. marked(key): whether a row stands out. inOrder(rows): the
  // order by default. `tall`: the table scrolls in a window of its own, so that content below can be reached.
  constructor({
    caption,
    columns,
    key,
    settings,
    onSettings,
    choose = null,
    onPoint = null,
    marked = () => false,
    inOrder = (rows) => rows,
    tall = false
  }) {
    Object.assign(this, {columns, key, settings, onSettings, choose, onPoint, marked, inOrder});
    this.rows = [];
    this.most = ROWS_SHOWN;
    this.drawn = new Map();  // by key: {row, signature, element}
    this.head = el("tr");
    this.body = el("tbody");
    this.more = el("p", {});
    this.table = el("table", {}, el("caption", {}, caption), el("thead", {}, this.head), this.body);
    this.pick = el("details", {class: "pick"});
    this.element = el(
      "div", {},
      el(
        "div", {class: tall ? "scroll tall" : "scroll", tabindex: 0, role: "region", "aria-label": caption},
        this.table),
      this.more, this.pick);
  }

  #hidden() {
    const [hide, show] = [this.settings.hide, this.settings.show].map((said) => new Set((said ?? "").split(",")));
    return new Set(
      this.columns.filter(({key, hidden}) => (hidden ? !show.has(key) : hide.has(key))).map((column) => column.key));
  }

  #change(settings) {
    Object.assign(this.settings, settings);
    this.onSettings(settings);
    this.drawn.clear();
    this.update(this.rows);
  }

  // Returns the shown columns.
  shown() {
    const hidden = this.#hidden();
    return this.columns.filter((column) => !hidden.has(column.key));
  }

  // Redraws all cells when their data changed but the rows did not.
  redraw() {
    for (const one of this.drawn.values()) one.row = null;
    this.update(this.rows);
  }

  setColumns(columns) {
    const same = columns.length === this.columns.length && columns.every((c, i) => c.key === this.columns[i].key);
    this.columns = columns;
    if (!same) this.drawn.clear();
  }

  #sorting() {
    const said = this.settings.sort ?? "";
    return {by: said.replace(/^-/, ""), down: said.startsWith("-")};
  }

  sorted(rows) {
    const {by, down} = this.#sorting();
    const column = this.columns.find((one) => one.key === by);
    if (!column) return this.inOrder(rows);
    const values = new Map(rows.map((row) => [row, column.value(row)]));
    const none = (v) => v === null || v === undefined || Number.isNaN(v);
    return [...rows].sort((a, b) => {
      const [x, y] = [values.get(a), values.get(b)];
      if (none(x) || none(y)) return none(x) - none(y);  // unknown comes last in both directions
      return down ? compare(y, x) : compare(x, y);
    });
  }

  update(rows) {
    this.rows = rows;
    const hidden = this.#hidden();
    const shown = this.shown();
    this.#drawHead(shown);
    const list = this.sorted(rows);
    const elements = list.slice(0, this.most).map((row) => this.#rowElement(row, shown));
    const now = [...this.body.children];
    if (now.length !== elements.length || now.some((one, i) => one !== elements[i])) replace(this.body, elements);
    if (this.drawn.size > 4 * this.most + list.length) this.drawn.clear();
    this.#drawMore(list.length, shown.length);
    this.#drawPick(hidden);
  }

  #drawHead(shown) {
    const {by, down} = this.#sorting();
    const signature = `${shown.map((one) => one.key).join("~")} ${by} ${down}`;
    if (signature === this.headSignature) return;
    this.headSignature = signature;
    const cells = shown.map((column) => {
      const mark = column.key === by ? (down ? "▼" : "▲") : "";
      const button = el(
        "button", {
          type: "button",
          "data-column": column.key,
          "data-focus": `sort ${column.key}`,
          on: {
            click: () => {
              this.#change({sort: column.key === by && !down ? `-${column.key}` : column.key});
            }
          }
        },
        el("span", {class: "cut"}, column.title),
        mark ? el("span", {class: "mark", "aria-hidden": "true"}, mark) : null);
      return el(
        "th", {
          scope: "col",
          class: column.number ? "number" : null,
          "aria-sort": column.key === by ? (down ? "descending" : "ascending") : null
        },
        button);
    });
    replace(this.head, this.choose ? el("th", {scope: "col"}, el("span", {class: "dim"}, "✓")) : null, cells);
  }

  #rowElement(row, shown) {
    const key = this.key(row);
    const chosen = this.choose?.has(key) ?? false;
    const marked = this.marked(key);
    const had = this.drawn.get(key);
    if (had && had.row === row && had.chosen === chosen && had.marked === marked) return had.element;
    const cells = shown.map((column) => {
      const content = column.cell ? column.cell(row) : column.value(row);
      return [column, content === null || content === undefined || content === "" ? NONE : content];
    });
    const signature =
      cells.map(([, content]) => (content.outerHTML ?? String(content))).join("\u0001") + chosen + marked;
    if (had && had.signature === signature) {
      had.row = row;
      return had.element;
    }
    const element = el("tr", {
      class: [chosen ? "chosen" : "", marked ? "best" : ""].filter(Boolean).join(" ") || null,
      on: this.onPoint ? {pointerenter: () => this.onPoint(key), pointerleave: () => this.onPoint(null)} : {}
    });
    if (this.choose) {
      element.append(el("td", {}, el("input", {
                          type: "checkbox",
                          checked: chosen,
                          "aria-label": `choose ${key}`,
                          "data-focus": `choose ${key}`,
                          on: {
                            change: (event) => {
                              this.choose.toggle(key, event.target.checked);
                            }
                          }
                        })));
    }
    for (const [column, content] of cells) {
      element.append(el("td", {class: column.number ? "number" : null}, content));
    }
    element.querySelector("a")?.setAttribute("data-focus", `open ${key}`);
    this.drawn.set(key, {row, signature, element, chosen, marked});
    return element;
  }

  pointAt(key) {
    for (const [each, {element}] of this.drawn) element.classList.toggle("pointed", each === key);
  }

  #drawMore(count, columns) {
    replace(this.more);
    if (count === 0 && columns) replace(this.more, el("span", {class: "dim"}, "none"));
    if (count <= this.most) return;
    replace(
      this.more, `${this.most} of ${count.toLocaleString("en")} rows `,
      el(
        "button", {
          type: "button",
          on: {
            click: () => {
              this.most *= 4;
              this.update(this.rows);
            }
          }
        },
        "show more"));
  }

  // Returns the hidden and shown columns that differ from the default.
  #said(hidden) {
    const keys = (of) => this.columns.filter(of).map((column) => column.key).join(",") || null;
    return {
      hide: keys((column) => !column.hidden && hidden.has(column.key)),
      show: keys((column) => column.hidden && !hidden.has(column.key))
    };
  }

  #drawPick(hidden) {
    const signature = this.columns.map((column) => `${column.key}${hidden.has(column.key)}`).join("~");
    if (signature === this.pickSignature) return;
    this.pickSignature = signature;
    replace(
      this.pick,
      el(
        "summary", {"data-focus": "columns"},
        `Columns (${this.columns.length - hidden.size} of ${this.columns.length})`),
      el("div", {class: "controls"}, this.columns.map((column) => check(column.title, !hidden.has(column.key), (on) => {
                                                        if (on)
                                                          hidden.delete(column.key);
                                                        else
                                                          hidden.add(column.key);
                                                        this.#change(this.#said(hidden));
                                                      }))));
  }
}
