// log_view.js: a trial's log lines, live and searchable. The newest stay in view unless a person has scrolled away.
import {get} from "./api.js";
import {choice, el, replace} from "./dom.js";

const LINES_MOST = 2000;

export class LogView {
  constructor(path, settings, keep) {
    this.path = path;
    this.settings = settings;
    this.keep = keep;
    this.lines = [];
    this.token = null;
    this.ranks = 1;
    this.box = el("pre", {class: "log", tabindex: 0, role: "log", "aria-label": "Log", "aria-live": "off"});
    this.note = el("p", {class: "dim"});
    this.controls = el("div", {class: "controls"});
    this.element = el("div", {}, this.controls, this.box, this.note);
    this.#drawControls();
  }

  setRanks(ranks) {
    if (ranks === this.ranks || !ranks) return;
    this.ranks = ranks;
    this.#drawControls();
  }

  #drawControls() {
    const search = el("input", {
      type: "search",
      value: this.settings.grep ?? "",
      placeholder: "text to find",
      on: {change: () => this.#set({grep: search.value || null})}
    });
    const ranks = [["", "all"], ...Array.from({length: this.ranks}, (_, i) => [String(i), String(i)])];
    replace(
      this.controls, el("label", {}, "Search", search),
      choice("Rank", ranks, this.settings.rank ?? "", (rank) => this.#set({rank: rank || null})));
  }

  #set(change) {
    Object.assign(this.settings, change);
    this.keep(change);
    this.lines = [];
    this.token = null;
    this.box.replaceChildren();
    this.refresh().catch(() => {});  // the next refresh shows the error
  }

  async refresh(signal) {
    const {grep, rank} = this.settings;
    const {token} = this;
    const options = new URLSearchParams({tail: LINES_MOST});
    if (grep) options.set("grep", grep);
    if (rank) options.set("rank", rank);
    if (token) options.set("page_token", token);
    const asked = options.toString();
    const page = await get(`${this.path}/logs?${asked}`, signal);
    // Another search may have begun meanwhile, or the same request was already answered.
    if (grep !== this.settings.grep || rank !== this.settings.rank || token !== this.token) return;
    if (page.next_page_token === token) return;
    this.token = page.next_page_token;
    this.left = (this.left ?? 0) * (this.lines.length > 0) + page.left_out;
    this.#add(page.items);
    this.note.textContent = this.lines.length === 0 ? (grep ? "no line contains this text" : "no output yet") :
      this.left                                     ? `${this.left} older lines are not shown: see dtctl logs` :
                                                      "";
  }

  #add(items) {
    const atEnd = this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight < 30;
    for (const item of items) {
      const line = el(
        "span", {}, el("span", {class: "from", title: item.time}, `#${item.attempt} rank ${item.rank} | `),
        el("bdi", {}, item.text), "\n",
        item.dropped_lines ? el("span", {class: "warn"}, `(${item.dropped_lines} lines left out)\n`) : null);
      this.lines.push(line);
      this.box.append(line);
    }
    while (this.lines.length > LINES_MOST) {
      this.lines.shift().remove();
      ++this.left;
    }
    if (atEnd) this.box.scrollTop = this.box.scrollHeight;
  }
}
