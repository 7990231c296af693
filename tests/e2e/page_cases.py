"""More cases of page_browser.py: state that survives a redraw, touch on a telephone, searches, columns, and a model
that learns."""

import pathlib
import re
import sys


# True once the element that had the focus has been drawn again; asks the page to refresh now rather
# than in two seconds.
REDRAWN = "(window.dispatchEvent(new Event('online')), !window.was.isConnected)"


def stays(page, which):
    """The focus survives a redraw, although the element is a new one then."""
    page.until(which, which)
    # Do all of this at once: the page may be drawn again at any moment.
    page.run(f"window.was = {which}; window.was.focus({{preventScroll: true}});"
             " window.held = document.activeElement === window.was")
    page.expect("window.held")
    page.until(REDRAWN, f"{which} is drawn again")
    page.expect(f"document.activeElement === {which} ? '' : document.activeElement.outerHTML.slice(0, 200)", "")


def focus(page):
    """A user who moves through a live page with the keyboard is not sent back to its beginning."""
    facts = "document.querySelector('dl.facts')?.textContent.includes('running')"
    page.show("/experiments/1/trials/1", facts)
    stays(page, "document.querySelector('h1 a')")
    page.show("/experiments/1", facts)
    stays(page, "document.querySelector('dl.facts a[href=\"#/experiments/1/trials/1\"]')")
    stays(page, "document.querySelectorAll('dl.facts a[download]')[1]")
    page.show("/fleet", "document.querySelector('.host li.busy')")
    stays(page, "document.querySelector('.host li.busy a')")
    page.resize(390, 844)
    heads = "document.querySelectorAll('[aria-label=Results] thead a')"
    page.show("/compare?of=1/1,1/1,1/1,1/1,1/1,1/1,1/1", f"{heads}.length === 7")
    region = "document.querySelector('[role=region][aria-label=Results]')"
    page.run(f"{region}.scrollLeft = 40")
    stays(page, f"{heads}[1]")
    page.expect(f"{region}.scrollLeft", 40)
    page.expect_no_errors()


def box_of(page, expression):
    page.run(f"({expression}).scrollIntoView({{block: 'center'}})")
    return page.run(f"(() => {{ const box = ({expression}).getBoundingClientRect();"
                    " return [box.left, box.top, box.width, box.height]; })()")


def touch(page):
    """A finger points, zooms and chooses as a mouse does."""
    page.touch(390, 844)
    page.show("/experiments/1", "document.querySelectorAll('tbody tr').length === 4")
    tip = "document.querySelector('figure .tip')"
    page.until("document.querySelector('figcaption').textContent.includes('4 curves')")
    chart = box_of(page, "document.querySelector('canvas.over')")
    left, top, width, height = chart
    page.expect(f"{tip}.hidden")
    page.swipe([left + width * 0.6, top + height * 0.6])
    page.until(f"!{tip}.hidden && {tip}.textContent.startsWith('1/')", "a tap names the nearest curve")
    page.expect(f"{tip}.textContent.includes('optimizer.lr=')")
    page.shot("tap")
    legend = ("[...document.querySelectorAll('.legend li')]"
              ".find((one) => one.querySelector('bdi')?.textContent === '1/%d')")
    for trial in (2, 4):
        x, y, wide, high = box_of(page, legend % trial)
        page.swipe([x + wide / 2, y + high / 2])
        page.until(f"!{tip}.hidden && {tip}.textContent.startsWith('1/{trial}')", "a tap on the legend names its curve")
    left, top, width, height = box_of(page, "document.querySelector('canvas.over')")
    page.swipe(*([left + width * share, top + height / 2] for share in (0.3, 0.4, 0.5, 0.7)))
    page.until("document.querySelector('figcaption').textContent.includes('zoomed')", "a drag zooms")
    # In a picture that leads to its trials, the first tap points and the next one opens.
    dot = box_of(page, "document.querySelector('section[aria-label=\"Parallel coordinates\"] canvas')")
    place = [dot[0] + 50, dot[1] + dot[3] / 2]
    pointed = "document.querySelector('section[aria-label=\"Parallel coordinates\"] .tip')"
    for share in (0.5, 0.3, 0.7, 0.2, 0.8):
        place = [dot[0] + dot[2] / 2, dot[1] + dot[3] * share]
        page.swipe(place)
        if not page.run(f"{pointed}.hidden"):
            break
    page.expect(f"!{pointed}.hidden && location.hash.startsWith('#/experiments/1?')")
    page.swipe(place)
    page.until("location.hash.startsWith('#/experiments/1/trials/')", "another tap opens what the first pointed at")
    page.show("/experiments/1", "document.querySelectorAll('tbody tr').length === 4")
    page.expect("matchMedia('(pointer: coarse)').matches")
    page.expect("[...document.querySelectorAll('main input[type=checkbox], main button')]"
                ".filter((one) => one.checkVisibility())"
                ".map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])"
                ".filter(([, box]) => box.width < 24 || box.height < 24).map(([html]) => html).join('\\n')", "")
    page.expect_no_sideways()
    page.expect_no_errors()


def press(page, name):
    """Presses the button of this name, of the topmost dialog if there is one, once it can be pressed."""
    button = ("[...(document.querySelector('dialog') ?? document).querySelectorAll('button')].find((one) =>"
              f" one.textContent === {name!r} && !one.disabled && !one.closest('[hidden]'))")
    page.until(button, f"a button {name}")
    page.run(f"{button}.click()")


def rows_of(page, region):
    """Returns a table as lists of texts, its head first."""
    return page.run(f"[...document.querySelectorAll('[role=region][aria-label=\"{region}\"] tr')]"
                    ".map((row) => [...row.cells].map((cell) => cell.textContent.trim()))")


def rungs(page):
    """A search by halving shows the trials that reached and passed each rung, and why a trial ended, in words."""
    for number, brackets in ((1, False), (2, True)):
        page.show(f"/experiments/{number}", "document.querySelector('[aria-label=Rungs] tbody tr')")
        page.expect("document.querySelector('[role=region][aria-label=Trials]').textContent.includes('stopped early')")
        page.expect("document.querySelector('main').innerText.includes('stopped_early')", False)
        trials = page.run(f"fetch('/api/v1/experiments/{number}/trials?page_size=500')"
                          ".then((one) => one.json()).then((one) => one.items)")
        told = [re.match(r"rung (\d+) \(step (\d+)\): val_loss \S+ is \d+\w+ of (\d+)", one["message"] or "")
                for one in trials if one["cause"] == "stopped_early"]
        assert told and all(told), trials
        curves = page.run(f"fetch('/api/v1/experiments/{number}/curves?metric=val_loss&trial="
                          f"{','.join(str(one['trial']) for one in trials)}').then((one) => one.json())")
        evaluated = [one["metrics"]["val_loss"] for one in curves["items"]]
        head, *rows = rows_of(page, "Rungs of the search")
        assert head[0] == ("bracket" if brackets else "rung"), head
        rows = [row if brackets else ["0"] + row for row in rows]
        assert {row[0] for row in rows} == ({"0", "1"} if brackets else {"0"}), rows
        for rung, step in (("1", 10), ("2", 30)):
            here = [row for row in rows if row[1] == rung]
            assert all(row[2] == str(step) for row in here), here
            came, went_on, stopped = (sum(int(row[i]) for row in here) for i in (3, 4, 5))
            values = [one["values"][one["steps"].index(step)] for one in evaluated if step in one["steps"]]
            assert came == len(values) and stopped == sum(one[1] == rung for one in told), (rung, rows, values, told)
            assert went_on == came - stopped, rows
            best = min(float(row[7]) for row in here)
            assert abs(best - min(values)) < 1e-3, (best, values)
            if not brackets:  # the limit: a next trial continues if its value is among the best third
                place = max(1, (came + 1) // 3)
                assert abs(float(here[0][8]) - sorted(values)[place - 1]) < 1e-3, (here, values)
    ended = next(one for one in trials if one["cause"] == "stopped_early")
    page.show(f"/experiments/2/trials/{ended['trial']}", "document.querySelector('dl.facts')")
    page.expect("document.querySelector('dl.facts').textContent.includes("
                f"{'stopped early: ' + ended['message']!r})")
    page.expect("document.querySelector('.story').textContent.includes('ended as stopped early')")
    page.expect("document.querySelectorAll('main .good').length", 0)
    page.shot("stopped-early")
    page.expect_no_errors()


# The cells of the trials' table, by column title, for trials whose newest value of the search's
# metric is not their best.
NEWEST_AND_BEST = """(async () => {
    const {trialColumns} = await import("/page/trial_columns.js");
    const of = (metric, trial) => Object.fromEntries(trialColumns({metric}, [trial], [], [], new Map())
        .filter((column) => ["metric", "best", "best_val_loss"].includes(column.key))
        .map((column) => [column.title, column.value(trial)]));
    return [of("val_loss", {metric_newest: 3, metric_value: 2, best_val_loss: 2}),
            of("accuracy", {metric_newest: 0.5, metric_value: 0.75, best_val_loss: 2}),
            of("loss", {metric_newest: null, metric_value: 4, best_val_loss: 2})]; })()"""


def columns(page):
    """The table of trials has every metric that can be chosen, and a trial's view agrees with `dtctl describe`."""
    cells = """(() => { const head = [...document.querySelectorAll('[role=region][aria-label=Trials] thead th')]
        .map((one) => one.textContent.trim());
      const row = document.querySelector('[role=region][aria-label=Trials] tbody tr');
      return JSON.stringify(Object.fromEntries(head.map((name, i) => [name, row.cells[i].textContent.trim()]))); })()"""
    wanted = {"MFU": "40 %", "Memory": "3 GiB", "Exposed communication": "25 %", "perplexity": "42.5",
              "HellaSwag": "0.25", "hops": "7"}
    page.show("/experiments/1", "document.querySelectorAll('[role=region][aria-label=Trials] tbody tr').length === 1")
    page.until("document.querySelector('.pick')")
    page.run("document.querySelector('.pick').open = true")
    for name in wanted:
        box = (f"[...document.querySelectorAll('.pick label')].find((one) => one.textContent === {name!r})"
               "?.querySelector('input')")
        page.until(box, f"a column {name}")
        page.expect(f"{box}.checked", False)
        page.run(f"{box}.focus(); {box}.click()")
        page.expect(f"document.activeElement === {box}")
    seen = " && ".join(f"JSON.parse({cells})[{name!r}] === {value!r}" for name, value in wanted.items())
    page.until(seen, "the values of the newest step and evaluation")
    page.run("location.reload()")
    page.until(seen, "the same after a reload")
    page.expect(f"'Seed' in JSON.parse({cells})", False)
    page.shot("columns")
    found = page.run(NEWEST_AND_BEST)
    assert found == [{"val_loss": 3, "best val_loss": 2}, {"accuracy": 0.5, "best accuracy": 0.75, "best val_loss": 2},
                     {"loss": 4, "best loss": 4, "best val_loss": 2}], found
    described = pathlib.Path(sys.argv[4]).read_text(encoding="utf-8")
    page.show("/experiments/1/trials/1", "document.querySelectorAll('[aria-label=Collectives] tbody tr').length === 2")
    head, *rows = rows_of(page, "Collectives")
    for row in rows:
        said = re.search(rf"{row[0]} .*among {row[2]} ranks of the {row[1]} axis.*bus (\S+) GB/s", described)
        assert said and said[1] == row[head.index("bus GB/s")], (row, described)
    waited, formula = re.search(r"(\d+)% of a step in which stages waited; (\d+)% by the formula", described).groups()
    page.expect("document.querySelector('dl.facts').textContent.includes("
                f"'{waited} % of a step in which stages waited; {formula} % by the formula')")
    page.expect_no_errors()


LINES = "[...document.querySelectorAll('pre.log > span')].map((one) => one.querySelector('bdi').textContent)"

# Two requests for the same lines, both under way at once; the second gets one line more. Then a
# third, for the lines after the first answer.
ASKED_TWICE = """(async () => {
    const {LogView} = await import("/page/log_view.js");
    const ask = window.fetch;
    const asked = [];
    window.fetch = (path, ...more) => path.startsWith("/api/v1/nowhere/logs") ?
        new Promise((answer) => asked.push(answer)) : ask(path, ...more);
    const view = new LogView("nowhere", {}, () => {});
    const say = (answer, lines, next_page_token) => answer(new Response(JSON.stringify(
        {items: lines.map((text) => ({attempt: 1, rank: 0, text})), left_out: 0, next_page_token})));
    const both = [view.refresh(), view.refresh()];
    say(asked[0], ["first"], "1");
    say(asked[1], ["first", "second"], "2");
    await Promise.all(both);
    const next = view.refresh();
    say(asked[2], ["second"], "2");
    await next;
    window.fetch = ask;
    return [...view.box.querySelectorAll("bdi")].map((one) => one.textContent).join();
  })()"""


def search(page, text):
    """Types this into the search field of a view."""
    page.run("(() => { const box = document.querySelector('main input[type=search]'); box.focus(); box.select(); })()")
    if text:
        page.call("Input.insertText", text=text)
    else:
        page.run("document.execCommand('delete')")
    page.key("Enter")


def log(page):
    """A trial's lines appear while it prints them, and a search shows the lines with a text, new ones too."""
    page.show("/experiments/1/trials/1", f"{LINES}.length > 0")
    page.run("window.stayed = true")
    newest = f"Number({LINES}.at(-1).replace('at step ', ''))"
    first = page.run(newest)
    page.until(f"{newest} > {first}", "a line that was printed since")
    search(page, "00")
    page.until(f"{LINES}.length > 0 && {LINES}.every((one) => one.includes('00'))", "the lines that were searched for")
    page.expect("new URLSearchParams(location.hash.split('?')[1]).get('grep')", "00")
    shown = page.run(LINES)
    # Every fourth line, from the first on.
    assert shown == [f"at step {100 * (i + 1)}" for i in range(len(shown))], shown
    count = len(shown)
    page.until(f"{LINES}.length > {count}", "one more of those that are searched for")
    shown = page.run(LINES)
    assert shown == [f"at step {100 * (i + 1)}" for i in range(len(shown))], shown
    page.shot("searched")
    search(page, "no such line")
    note = "document.querySelector('pre.log').nextElementSibling.textContent"
    page.until(f"{note} === 'no line contains this text'")
    page.expect(f"{LINES}.length", 0)
    search(page, "")
    page.until(f"{LINES}.length > 4 * {count}", "all lines again")
    page.expect(f"{LINES}.slice(0, 5).join()", ",".join(f"at step {25 * (i + 1)}" for i in range(5)))
    page.expect(note, "")
    page.expect("window.stayed")
    page.expect(ASKED_TWICE, "first,second")
    page.expect_no_errors()


def listed(page):
    """Experiments can be filtered by words, labels and state, and sorted by a column; their labels are shown beside
    them."""
    page.show("/", "document.querySelectorAll('tbody tr').length === 4")
    numbers = "[...document.querySelectorAll('tbody tr')].map((row) => Number(row.cells[1].textContent)).join()"
    page.expect(numbers, "4,3,2,1")
    labels = "[...document.querySelectorAll('tbody tr')].map((row) => row.querySelector('.labels').textContent).join()"
    page.expect(labels, "team=vision,team=text,,team=vision")
    count = "document.querySelector('main .controls > span.dim').textContent"
    page.expect(count, "4")
    for words, wanted in (("team=vision", "4,1"), ("team=", "4,3,1"), ("TEAM=Text", "3"), ("beech", "1"),
                          ("vision cancelled", "4"), ("queued", "3,2"), ("vision text", "")):
        search(page, words)
        page.until(f"{numbers} === {wanted!r}", f"{words}: {wanted}")
        page.expect(count, f"{len(wanted.split(',')) if wanted else 0} of 4")
    page.expect("document.querySelector('main').textContent.includes('none')")
    search(page, "")
    state = "[...document.querySelectorAll('main select')].find((one) => one.labels[0].textContent.startsWith('State'))"
    for name, wanted in (("running", "1"), ("cancelled", "4"), ("finished", ""), ("queued", "3,2"), ("", "4,3,2,1")):
        page.run(f"{state}.value = {name!r}; {state}.dispatchEvent(new Event('change'))")
        page.until(f"{numbers} === {wanted!r}", f"those that are {name}: {wanted}")
    # ash, beech, cedar, test
    for column, up in (("name", "3,1,4,2"), ("experiment", "1,2,3,4")):
        for turn, mark in ((up, "ascending"), (up[::-1], "descending")):
            page.run(f"document.querySelector('[data-column={column}]').click()")
            page.expect(f"document.querySelector('[data-column={column}]').closest('th').ariaSort", mark)
            page.expect(numbers, turn)
    page.run("document.querySelector('[data-column=name]').click()")
    page.run("window.before = true; location.reload()")
    page.until(f"!window.before && {numbers} === '3,1,4,2'", "the same order after a reload")
    page.shot("listed")
    page.expect_no_errors()


TIMERS = """window.timers = new Set();
    const [set, clear] = [window.setTimeout, window.clearTimeout];
    window.setTimeout = (what, ms) => {
      const id = set(() => { window.timers.delete(id); what(); }, ms);
      window.timers.add(id);
      return id;
    };
    window.clearTimeout = (id) => { window.timers.delete(id); clear(id); };"""


def missing(page):
    """The page reports once that a thing named in the address does not exist, and does not ask for it again."""
    page.call("Page.addScriptToEvaluateOnNewDocument", source=TIMERS)
    for address, heading, why in (("/experiments/99", "There is no experiment 99", "experiment 99 does not exist"),
                                  ("/experiments/1/trials/9", "There is no trial 1/9", "has 4 trials")):
        page.go("about:blank")
        page.go(f"{page.base}/#{address}")
        page.until(f"document.querySelector('h1')?.textContent === {heading!r}")
        page.expect(f"document.querySelector('main').textContent.includes({why!r})")
        page.expect("document.querySelectorAll('h1, h2').length", 1)
        page.expect("document.querySelectorAll('main section').length", 0)
        page.expect("document.getElementById('banner').hidden")
        page.expect_usable()
        page.expect("window.timers.size", 0)
        page.run("location.hash = '#/'")
        page.until("document.querySelectorAll('tbody tr').length >= 2", "other views are live")
        page.until("window.timers.size > 0", "which ask again")


def learns(page):
    """A real model's loss falls while the page is open, and its samples are shown."""
    page.show("/experiments/1/trials/1", "document.querySelector('dl.facts')?.textContent.includes('loss')")
    loss = ("Number(/Loss: \\d curves?.*?now(?: is)? ([\\d.]+)/"
            ".exec(document.querySelector('figcaption').textContent)[1])")
    page.until(f"{loss} > 0", "a loss")
    first = page.run(loss)
    page.until(f"{loss} < 0.9 * {first}", "the loss falls")
    page.expect("document.querySelector('main').textContent.includes('LibTorch')")
    written = "document.querySelector('main pre.foreign')?.textContent ?? ''"
    page.until(f"({written}).startsWith('The ') && ({written}).length > 10", "a sample")
    page.shot("learns")
    page.expect_no_errors()
