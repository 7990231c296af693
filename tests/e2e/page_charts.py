"""Cases of page_browser.py about drawings: by the ticks beside it, each point is at its value in /api/v1.

A script that the page runs first notes what is drawn on each canvas since it was last cleared; the expected curves are
computed here.
"""

import math
import urllib.parse

from page_cases import box_of, rows_of

NOTED = """(() => {
    for (const name of ["moveTo", "lineTo"]) {
      const was = Path2D.prototype[name];
      Path2D.prototype[name] = function(x, y) {
        (this.points ??= []).push([x, y]);
        return was.call(this, x, y);
      };
    }
    const context = CanvasRenderingContext2D.prototype;
    const noting = (name, note) => {
      const was = context[name];
      context[name] = function(...given) {
        note(this.canvas, this, given);
        return was.apply(this, given);
      };
    };
    noting("clearRect", (canvas) => { canvas.drawn = {texts: [], curves: [], dots: [], areas: [], fills: []}; });
    noting("fillText", (canvas, {textAlign}, [text, x, y]) => canvas.drawn.texts.push([textAlign, text, x, y]));
    noting("stroke", (canvas, {globalAlpha, strokeStyle}, [path]) => {
      if (path) canvas.drawn.curves.push({points: path.points ?? [], faint: globalAlpha < 1, colour: strokeStyle});
    });
    noting("fill", (canvas, {fillStyle}, [path]) => {
      if (path) canvas.drawn.areas.push(path.points ?? []);
      else canvas.drawn.fills.push(fillStyle);
    });
    noting("arc", (canvas, _, [x, y]) => canvas.drawn.dots.push([x, y]));
  })();"""

CURVES = "document.querySelector('section[aria-label=Curves] canvas')"
OVER = "document.querySelector('section[aria-label=Curves] canvas.over')"
CAPTION = "document.querySelector('section[aria-label=Curves] figcaption').textContent"
TIP = "document.querySelector('section[aria-label=Curves] .tip')"
SCATTER = "document.querySelector('section[aria-label=\"Scatter plot\"] canvas')"
NEAR = 2.5  # pixels; a tick stands at a full pixel


def ask(page, path):
    return page.run(f"fetch('/api/v1/{path}').then((one) => one.json())")


def number_of(text):
    return float(text.replace(",", ""))


class Axis:
    """Maps values to pixels by the first and the last tick of an axis; checks that the ticks between agree."""

    def __init__(self, ticks, log):
        self.values = [value for value, _ in ticks]
        self.scale = math.log10 if log else float
        (low, at_low), (high, at_high) = ticks[0], ticks[-1]
        self.low, self.at_low = self.scale(low), at_low - 0.5
        self.pixels = (at_high - at_low) / (self.scale(high) - self.low)
        for value, at in ticks:
            assert abs(at - 0.5 - self.place(value)) < NEAR, f"{value} is at {at}: {ticks}"

    def place(self, value):
        return self.at_low + self.pixels * (self.scale(value) - self.low)


class Drawn:
    """The texts, curves and dots drawn on a canvas."""

    def __init__(self, page, canvas, logx=False, logy=False):
        told = page.run(f"{canvas}.drawn")
        texts = told["texts"]
        below = [(number_of(text), x) for align, text, x, _ in texts if align == "center"]
        left = min(x for align, _, x, _ in texts if align == "right")
        beside = [(number_of(text), y) for align, text, x, y in texts if align == "right" and x == left]
        self.x, self.y = Axis(below, logx), Axis(beside, logy)
        self.faint = [one["points"] for one in told["curves"] if one["faint"]]
        self.curves = [one["points"] for one in told["curves"] if not one["faint"]]
        self.colours = [one["colour"] for one in told["curves"] if not one["faint"]]
        self.dots, self.areas = told["dots"], told["areas"]

    def place(self, x, y):
        return self.x.place(x), self.y.place(y)

    def expect(self, drawn, wanted, what):
        """Expects that each of these values is drawn, and nothing else."""
        places = [self.place(x, y) for x, y in wanted]
        for some, others in ((places, drawn), (drawn, places)):
            for x, y in some:
                assert any(abs(x - px) < NEAR and abs(y - py) < NEAR for px, py in others), \
                    f"{what}: nothing at {x}, {y}; drawn: {drawn[:5]}…; should be: {places[:5]}…"


def rows_of_curve(page, experiment, trial, metric="loss"):
    item, = ask(page, f"experiments/{experiment}/curves?trial={trial}&metric={metric}&points=2000")["items"]
    assert item["complete"], item
    return list(zip(item["metrics"][metric]["steps"], item["metrics"][metric]["values"]))


def smoothed(rows, share):
    """Returns the exponential moving average with the bias of its start corrected."""
    out = []
    for i, (step, _) in enumerate(rows):
        weights = [share ** (i - j) for j in range(i + 1)]
        out.append((step, sum(w * v for w, (_, v) in zip(weights, rows)) / sum(weights)))
    return out


def set_box(page, name, on):
    """Sets a checkbox beside a chart, which is drawn again at once."""
    box = f"document.querySelector('main input[data-focus=\"{name}\"]')"
    page.run(f"{box}.checked === {str(on).lower()} || {box}.click()")
    page.expect(f"{box}.checked", on)


def smooth(page, share):
    page.run("(() => { const slider = document.querySelector('[data-focus=Smoothing]');"
             f" slider.value = {share}; slider.dispatchEvent(new Event('input')); }})()")


def point_at(page, canvas, x, y):
    left, top, _, _ = box_of(page, canvas)
    page.mouse("mouseMoved", left + x, top + y)


def expect_tip(page, drawn, trial, row, shown):
    """Points at the place of `shown` and expects the trial, its parameters and the value of `row`."""
    point_at(page, OVER, *drawn.place(*shown))
    begin = f"{trial['id']}step {row[0]}: {row[1]:.6g}"
    page.until(f"!{TIP}.hidden && {TIP}.textContent.startsWith({begin!r})", f"the tip says {begin}")
    note = page.run(f"{TIP}.querySelector('bdi').textContent")
    said = {path: float(value) for path, value in (one.split("=") for one in note.split(", "))}
    assert said == trial["assignments"], (note, trial)


def curves_of(page, trials):
    """Tests smoothing, logarithmic axes, pointing and zooming, on trials whose curves lie apart."""
    chosen = ",".join(str(one["trial"]) for one in trials)
    page.show(f"/experiments/1?metric=loss&trials={chosen}", f"{CAPTION}.includes('{len(trials)} curves')")
    rows = [rows_of_curve(page, 1, one["trial"]) for one in trials]
    drawn = Drawn(page, CURVES)
    assert len(set(drawn.colours)) == len(trials) and not drawn.faint, drawn.colours
    for curve, of in zip(drawn.curves, rows, strict=True):
        assert len(curve) == len(of) == 300, (len(curve), len(of))
        drawn.expect(curve, of, "a curve")
    for one, of in zip(trials, rows):
        expect_tip(page, drawn, one, of[150], of[150])

    smooth(page, 0.9)
    page.expect("location.hash.includes('smooth=0.9')")
    drawn = Drawn(page, CURVES)
    for faint, curve, of in zip(drawn.faint, drawn.curves, rows, strict=True):
        drawn.expect(faint, of, "what was measured, faintly")
        drawn.expect(curve, smoothed(of, 0.9), "a smoothed curve")
    at = smoothed(rows[0], 0.9)[50]
    assert abs(drawn.y.place(at[1]) - drawn.y.place(rows[0][50][1])) > 3 * NEAR, "smoothing is seen"
    expect_tip(page, drawn, trials[0], rows[0][50], at)
    page.shot("smoothed")
    smooth(page, 0)

    for logx, logy in ((True, False), (True, True), (False, True)):
        set_box(page, "log steps", logx)
        set_box(page, "log values", logy)
        drawn = Drawn(page, CURVES, logx, logy)
        assert not logx or drawn.x.values == [1, 3, 10, 30, 100, 300], drawn.x.values
        assert not logy or drawn.y.values == [2, 5], drawn.y.values
        for curve, of in zip(drawn.curves, rows, strict=True):
            drawn.expect(curve, of, f"a curve on axes of which {logx} and {logy} are logarithmic")
        expect_tip(page, drawn, trials[1], rows[1][80], rows[1][80])
    page.shot("log-values")

    set_box(page, "log values", False)
    drawn = Drawn(page, CURVES)
    _, y = drawn.place(150, 3)
    left, top, _, _ = box_of(page, OVER)
    for kind, step in (("mousePressed", 100), ("mouseMoved", 200), ("mouseReleased", 200)):
        page.mouse(kind, left + drawn.x.place(step), top + y, "left", 1)
    page.until(f"{CAPTION}.includes('zoomed')")
    zoomed = Drawn(page, CURVES)
    assert min(zoomed.x.values) >= 99 and max(zoomed.x.values) <= 201, zoomed.x.values
    inside = [row for row in rows[0] if 105 <= row[0] <= 195]
    zoomed.expect([one for one in zoomed.curves[0] if zoomed.x.place(104.5) < one[0] < zoomed.x.place(195.5)], inside,
                  "what is zoomed to")
    for clicks in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            page.mouse(kind, left + drawn.x.place(150), top + y, "left", clicks)
    page.until(f"!{CAPTION}.includes('zoomed')", "a double click shows all")
    assert Drawn(page, CURVES).x.values == drawn.x.values
    page.expect("location.hash.includes('zoom')", False)


def scatters(page, trials):
    """Each finished and evaluated trial has a dot at its values; the others are counted."""
    caption = "document.querySelector('section[aria-label=\"Scatter plot\"] figcaption').textContent"
    finished = [one for one in trials if one["state"] == "finished"]
    page.show("/experiments/1", f"{caption}.includes('val_loss over optimizer.lr, {len(finished)} trials')")
    wanted = [(one["assignments"]["optimizer.lr"], one["metric_value"]) for one in finished]
    for log in (True, False):  # the axis of a learning rate is logarithmic unless the user changes
                               # it
        set_box(page, "log x", log)
        drawn = Drawn(page, SCATTER, logx=log)
        assert len(drawn.dots) == len(finished) == 16, drawn.dots
        drawn.expect(drawn.dots, wanted, "dots")
    # The last of several dots at one place lies beneath the others: all trials with this rate have
    # one result.
    x, y = wanted[-1]
    point_at(page, SCATTER, *drawn.place(x, y))
    tip = "document.querySelector('section[aria-label=\"Scatter plot\"] .tip')"
    page.until(f"!{tip}.hidden", "pointing at a dot says what it is")
    said = page.run(f"[...{tip}.querySelectorAll('strong, bdi')].map((one) => one.textContent)")
    named = next(one for one in finished if one["id"] == said[0])
    assert named["assignments"]["optimizer.lr"] == x, said
    assert said[1] == f"optimizer.lr: {x:.6g}" and said[2] == f"val_loss: {y:.5g}", (said, y)
    page.show("/experiments/2", f"{caption}.includes('val_loss over train.max_steps')")
    page.expect(caption, "val_loss over train.max_steps, 1 trial; 1 has no value")
    page.expect(f"{SCATTER}.drawn.dots.length", 1)


def mattered(page):
    """The parameters that the result depended on are those of the API, the most important first."""
    table = "document.querySelector('[role=region][aria-label=\"Importance of parameters\"] tbody tr')"
    page.show("/experiments/1", table)
    told = ask(page, "experiments/1/importance")
    percent = lambda share: f"{math.floor(share * 100 + 0.5)} %"
    singles = [one for one in told["items"] if len(one["parameters"]) == 1]
    pairs = [one for one in told["items"] if len(one["parameters"]) > 1 and one["share"] >= 0.02]
    wanted = [[" × ".join(one["parameters"]), percent(one["share"]), percent(one["deviation"])]
              for one in singles + pairs]
    rows = [row[:3] for row in rows_of(page, "Importance of parameters")[1:]]
    assert rows == wanted, (rows, wanted)
    assert [row[0] for row in rows[:2]] == ["optimizer.lr", "optimizer.weight_decay"], rows
    assert singles[0]["share"] > 0.8 > 0.2 > singles[1]["share"], told
    page.expect(f"document.querySelector('[aria-label=Importance]').textContent.includes({told['note']!r})")
    page.expect("document.querySelector('[aria-label=Importance] h3').textContent",
                "Importance of parameters for val_loss")


def flat(value, path="", into=None):
    into = {} if into is None else into
    if isinstance(value, dict):
        for key, inner in value.items():
            flat(inner, f"{path}.{key}" if path else key, into)
    else:
        into[path] = value
    return into


def compared(page):
    """A trial beside another experiment's best: both curves, and each setting that differs, with its values."""
    page.show("/compare?of=1/1,2&metric=loss", f"{CAPTION}.includes('2 curves')")
    others = ask(page, "experiments/2")
    ids = [(1, 1), (2, others["best_trial"])]
    page.expect("[...document.querySelectorAll('.legend li')]"
                ".map((one) => one.querySelector('bdi').textContent).join()",
                f"1/1 wide,2/{ids[1][1]} narrow")
    drawn = Drawn(page, CURVES)
    assert len(set(drawn.colours)) == 2, drawn.colours
    for curve, (experiment, trial) in zip(drawn.curves, ids, strict=True):
        drawn.expect(curve, rows_of_curve(page, experiment, trial), f"the curve of {experiment}/{trial}")
    trials = [ask(page, f"experiments/{experiment}/trials/{trial}") for experiment, trial in ids]
    head, *rows = rows_of(page, "Results")
    assert head == [""] + [one["id"] for one in trials], head
    steps = next(row for row in rows if row[0] == "step")
    assert steps[1:] == ["300", "150"] == [str(one["step"]) for one in trials], steps
    settings = [{**flat(ask(page, f"experiments/{experiment}")["spec"]["base"]), **trial["assignments"]}
                for (experiment, _), trial in zip(ids, trials)]
    wanted = sorted(path for path in set().union(*settings) if settings[0].get(path) != settings[1].get(path))
    head, *rows = rows_of(page, "Differing settings")
    assert [row[0] for row in rows] == wanted, (rows, wanted)
    assert {"optimizer.lr", "optimizer.weight_decay", "train.max_steps", "data.train"} <= set(wanted), wanted
    for path, *values in rows:
        for text, one in zip(values, settings, strict=True):
            value = one.get(path)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            assert (number_of(text) == value) if number else (text == str(value)), (path, text, value)
    page.shot("compared")


def phases(page):
    """All charts of a trial cover the same steps on the same scale; the chart of phases has the time of each."""
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    figures = "[...document.querySelectorAll('section[aria-label=Curves] figure')]"
    page.show("/experiments/1/trials/1", f"{figures}.length > 5")
    chart = f"{figures}.find((one) => one.textContent.includes('Time by phase'))"
    page.until(f"{chart}.querySelector('figcaption').textContent.includes('4 curves')")
    names = page.run(f"[...{chart}.querySelectorAll('.legend li')].map((one) => one.textContent)")
    took = {"forward": 0.0005, "backward": 0.0002, "comm exposed": 0.00025, "optimizer": 0.00005}
    assert names == list(took), names
    drawn = Drawn(page, f"{chart}.querySelector('canvas')")
    told = ask(page, "experiments/1/curves?trial=1&points=2000&metric="
               "forward_seconds,backward_seconds,comm_exposed_seconds,optimizer_seconds")["items"][0]["metrics"]
    for curve, name in zip(drawn.curves, names, strict=True):
        of = told[name.replace(" ", "_") + "_seconds"]
        assert of["steps"] == list(range(1, 61)) and set(of["values"]) == {took[name]}, of
        drawn.expect(curve, list(zip(of["steps"], of["values"])), name)
    page.run(f"{chart}.querySelector('canvas.over').focus()")
    tip = f"{chart}.querySelector('.tip').textContent"
    for name in names[1:] + names[:1]:
        page.key("ArrowDown")
        said = page.run(tip)
        assert said.startswith(f"{name}step 60: ") and float(said.split(": ")[1]) == took[name], said
    page.shot("phases")
    set_box(page, "log steps", True)
    for i in range(page.run(f"{figures}.length")):
        ticks = Drawn(page, f"{figures}[{i}].querySelector('canvas')", logx=True).x.values
        assert ticks in ([1, 2, 5, 10, 20, 50], [20, 50]), (i, ticks)
    set_box(page, "log steps", False)
    smooth(page, 0.5)
    for i in range(page.run(f"{figures}.length")):
        drawn = Drawn(page, f"{figures}[{i}].querySelector('canvas')")
        # from a plan, not from a measurement
        rate = page.run(f"{figures}[{i}].textContent.includes('Learning rate')")
        assert len(drawn.faint) == (0 if rate else len(drawn.curves)), (i, drawn.faint)
    page.show("/experiments/1/trials/1?zoom=10~20", f"{figures}.length > 5")
    zoomed = f"{figures}.filter((one) => one.querySelector('figcaption').textContent.includes('zoomed')).length"
    page.expect(f"{zoomed} === {figures}.length")
    page.run(f"{figures}[1].querySelector('canvas.over').focus()")
    page.key("0")
    page.until(f"{zoomed} === 0")
    page.expect_no_errors()


def charts(page):
    """Drawings, texts at the pointer and comparisons agree with the API."""
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    page.go(f"{page.base}/#/")
    page.until("document.querySelectorAll('tbody tr').length === 2")
    trials = ask(page, "experiments/1/trials?page_size=500")["items"]
    first = {}
    for one in trials:
        first.setdefault(one["assignments"]["optimizer.lr"], one)
    curves_of(page, sorted(first.values(), key=lambda one: one["trial"]))
    scatters(page, trials)
    mattered(page)
    compared(page)
    page.expect_no_errors()
