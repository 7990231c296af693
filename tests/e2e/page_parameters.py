"""Cases of page_browser.py about pictures of parameters and metrics: slices, the contour and the Pareto front. The
cases make their own answers of the API, and compute what should be drawn by rules of their own."""

import csv
import io
import json
import math
import pathlib
import random

from page_charts import CAPTION, NOTED, Axis, Drawn, number_of
from page_pictures import ANSWERS, answers, experiment_of, listed, trial_of
from page_search import SAVED, choose, options_of, saved_by

LAYOUT = pathlib.Path(__file__).parents[2] / "report/page/layout.txt"
TRIALS = 40
STEPS = [10, 20, 30]
LAYERS = [2, 4, 8]
# The accuracy and the size of six trials with two objectives; the fifth breaks a constraint.
OBJECTIVES = [(0.5, 2), (0.9, 6), (0.7, 3), (0.6, 5), (0.95, 9), (0.4, None)]
BROKEN = 5


def within(name):
    return f"section[aria-label=\"{name}\"]"


def found(name, what="canvas"):
    return f"document.querySelector('{within(name)} {what}')"


def fraction(number, base):
    """Returns the number's digits behind the point, in reverse: values that fill a range evenly."""
    share, out = 1.0, 0.0
    while number:
        share /= base
        out += share * (number % base)
        number //= base
    return out


def settings_of(number):
    lr = float(f"{10 ** (-4 + 3 * fraction(number, 2)):.3g}")
    return {"optimizer.lr": lr, "dropout": round(0.6 * fraction(number, 3), 3),
            "optimizer": ["adam", "sgd", "lion"][number % 3], "layers": LAYERS[number % 3 - 1],
            **({"momentum": round(0.8 + fraction(number, 5) / 5, 3)} if number % 3 == 1 else {})}


def accuracy_of(number):
    """Returns the accuracy of a trial; the best is near a rate of 0.003 and a dropout of 0.2."""
    given = settings_of(number)
    off = abs(math.log10(given["optimizer.lr"] / 0.003)) / 1.5 + abs(given["dropout"] - 0.2)
    return round(0.92 - 0.25 * off - 0.03 * (number % 3) - 0.01 * fraction(number, 7), 5)


def latency_of(number):
    return round(4 * settings_of(number)["layers"] + 10 * accuracy_of(number) + 3 * fraction(number, 5), 4)


def made():
    """91: a program with 40 trials and two metrics; 92: the same search of a model; 93: two trials of a program with
    one parameter; 94: eight trials in two corners; 95: two objectives and a constraint."""
    values = {i: accuracy_of(i) for i in range(1, TRIALS + 1)}
    best = max(values, key=values.get)
    file = experiment_of(91, "accuracy", "maximize", best, {"command": ["./train"]}, TRIALS)
    file["spec"]["parameters"] = [
        {"path": "optimizer.lr", "range": {"min": 1e-4, "max": 0.1, "scale": "log"}},
        {"path": "dropout", "range": {"min": 0, "max": 0.6}}, {"path": "optimizer", "values": ["adam", "sgd", "lion"]},
        {"path": "layers", "values": LAYERS}, {"path": "momentum", "range": {"min": 0.8, "max": 1}}]
    file["name"] = "cnn-sweep"
    trials = [trial_of(91, i, values[i], assignments=settings_of(i), training_seconds=20 + i % 7,
                       ended_at=f"2026-01-02T{3 + i // 30:02}:{10 + i % 30}:05Z") for i in values]
    curves = {str(i): {"accuracy": {"steps": STEPS, "values": [values[i] - 0.2, values[i] - 0.05, values[i]]},
                       "latency_ms": {"steps": STEPS, "values": [30, 29, latency_of(i)]}} for i in values}
    made_ = answers(file, trials, curves)
    made_["experiments/91/importance"] = {"metric": "accuracy", "note": "From 40 trials.", "items": [
        {"parameters": ["optimizer.lr"], "share": 0.6, "deviation": 0.1},
        {"parameters": ["dropout"], "share": 0.3, "deviation": 0.1}]}
    model = [trial_of(92, i, round(4 - values[i], 5), assignments=settings_of(i), tokens_per_step=100,
                      best_val_loss=round(4 - values[i], 5), val_loss=round(4 - values[i], 5),
                      tokens_per_second=1000 * (1 + i % 5), latest={
                          "step": 30, "loss": 3.0, "seconds": 1, "eval_seconds": 0, "checkpoint_seconds": 0})
             for i in values]
    model[4]["metric_value"] = 1e9
    of_model = experiment_of(92, "val_loss", "minimize", best, {"command": []}, TRIALS)
    of_model["spec"]["parameters"] = file["spec"]["parameters"]
    curves = {str(i): {"val_loss": {"steps": STEPS, "values": [5, 4.5, 4 - values[i]]},
                       "loss": {"steps": STEPS, "values": [5, 4.5, 4]},
                       ".training_seconds": {"steps": [1, 30], "values": [2, 60]}} for i in values}
    made_ |= answers(of_model, model, curves)
    made_["experiments/92/trials/1/evaluations"] = listed([{"step": 30, "samples": [], "metrics": []}])
    corners = [trial_of(94, i, i / 10, assignments={"a": (i > 4) * 0.9 + i % 2 / 10, "b": (i > 4) * 0.9 + i / 100})
               for i in range(1, 9)]
    made_ |= answers(experiment_of(94, "accuracy", "maximize", 8, {"command": ["./train"]}, 8), corners,
                     {str(i): {"accuracy": {"steps": STEPS, "values": [0, 0, i / 10]}} for i in range(1, 9)})
    several = [trial_of(95, i, OBJECTIVES[i - 1][0], objectives=list(OBJECTIVES[i - 1]), infeasible=(
        "params_millions 9 breaks params_millions <= 8" if i == BROKEN else None)) for i in range(1, 7)]
    file = {**experiment_of(95, "accuracy", "maximize", 2, {"command": ["./train"]}, 6),
            "metrics": ["accuracy", "params_millions"], "goals": ["maximize", "minimize"],
            "constraints": ["params_millions <= 8"], "infeasible": 1, "pareto_trials": [1, 2, 3]}
    made_ |= answers(file, several, {str(i): {"accuracy": {"steps": STEPS, "values": [0, 0, i]},
                                              "params_millions": {"steps": STEPS, "values": [1, 1, 1]}}
                                     for i in range(1, 7)})
    two = [trial_of(93, i, 0.5 + i / 10, training_seconds=None) for i in (1, 2)]
    made_ |= answers(experiment_of(93, "accuracy", "maximize", 2, {"command": ["./train"]}, 2), two,
                     {str(i): {"accuracy": {"steps": STEPS, "values": [0.1, 0.2, 0.3]}} for i in (1, 2)})
    return made_


BEST = max(range(1, TRIALS + 1), key=accuracy_of)
NUMBERS = range(1, TRIALS + 1)
COLOURS = """(() => { const style = getComputedStyle(document.documentElement);
    return ['--k1', '--k0', '--rest', '--raised'].map((name) => style.getPropertyValue(name).trim()); })()"""


def rgb(text):
    return [int(text[i:i + 2], 16) for i in (1, 3, 5)]


def places_of(page, name):
    """Returns the dots of a picture with their colours, [(x, y, "#rrggbb")], without frames of other pictures."""
    told = page.run(f"{found(name)}.drawn")
    assert len(told["dots"]) == len(told["fills"]), told
    return [(x, y, colour) for (x, y), colour in zip(told["dots"], told["fills"])]


def at(dots, x, y):
    """Returns the colours of the dots at a place."""
    return [colour for px, py, colour in dots if abs(px - x) < 2.5 and abs(py - y) < 2.5]


def opened(page, number, query=""):
    page.show(f"/experiments/{number}{query}", f"{CAPTION}.includes('curve')")
    page.until(f"{found('Slices', 'figcaption')}?.textContent", "the slices")


def sliced(page):
    """Each slice has a dot for each trial with a value of the parameter, in a shade that grows with its number."""
    opened(page, 91)
    best, blue, _, ground = page.run(COLOURS)
    names = page.run(f"[...document.querySelectorAll('{within('Slices')} canvas')].map((one) => one.ariaLabel"
                     ".split(':')[0])")
    assert names == ["Slice of " + path for path in ("optimizer.lr", "dropout", "optimizer", "layers", "momentum")]
    canvas = f"document.querySelectorAll('{within('Slices')} canvas')[%d]"
    for i, (path, log) in enumerate([("optimizer.lr", True), ("dropout", False), ("layers", False),
                                     ("momentum", False)]):
        index = i if i < 2 else i + 1
        drawn = Drawn(page, canvas % index, logx=log)
        with_it = [n for n in NUMBERS if path in settings_of(n)]
        drawn.expect(drawn.dots, [(settings_of(n)[path], accuracy_of(n)) for n in with_it], f"a dot over {path}")
    told = page.run(f"{canvas % 0}.drawn")
    drawn = Drawn(page, canvas % 0, logx=True)
    dots = [(x, y, colour) for (x, y), colour in zip(told["dots"], told["fills"])]
    for n in NUMBERS:
        colours = at(dots, *drawn.place(settings_of(n)["optimizer.lr"], accuracy_of(n)))
        share = 0.2 + 0.8 * (n - 1) / (TRIALS - 1)
        shade = [round(a + (b - a) * share) for a, b in zip(rgb(ground), rgb(blue))]
        wanted = rgb(best) if n == BEST else shade
        assert any(all(abs(a - b) <= 1 for a, b in zip(rgb(one), wanted)) for one in colours), (n, colours, wanted)
    assert told["fills"][-1] == best, "the best is above all"
    words = {text: x for align, text, x, _ in page.run(f"{canvas % 2}.drawn.texts") if align == "center"}
    assert sorted(words, key=words.get) == ["adam", "lion", "sgd"], words
    dots = page.run(f"{canvas % 2}.drawn.dots")
    for name, x in words.items():
        wanted = sum(settings_of(n)["optimizer"] == name for n in NUMBERS)
        assert sum(abs(px - x) < 1.5 for px, _ in dots) == wanted, (name, wanted)
    page.expect(f"{found('Slices', '.shades')}.textContent", "trial 140best")
    page.run(f"{found('Slices', 'input')}.click()")
    page.until("location.hash.includes('slog=1')")
    drawn = Drawn(page, canvas % 0, logx=True, logy=True)
    drawn.expect(drawn.dots, [(settings_of(n)["optimizer.lr"], accuracy_of(n)) for n in NUMBERS], "log values")


def field_at(points, x, y):
    """Returns the value of the field by its documented rule."""
    weights = [((px - x) ** 2 + (py - y) ** 2 + 0.02 ** 2) ** -1.5 for px, py, _ in points]
    if min(math.hypot(px - x, py - y) for px, py, _ in points) > 0.25:
        return math.nan
    return sum(w * v for w, (_, _, v) in zip(weights, points)) / sum(weights)


def pixels(page, canvas, places):
    """Returns the colours at these places of a canvas, [[red, green, blue, opacity], ...]."""
    return page.run(f"(() => {{ const context = {canvas}.getContext('2d'); return {[list(one) for one in places]}.map("
                    "([x, y]) => [...context.getImageData(x, y, 1, 1).data]); })()")


def contoured(page):
    """Each trial is a dot, and the colour between them is that of the value which the documented rule gives."""
    opened(page, 91, "?cx=dropout&cy=optimizer.lr")
    page.expect(f"[...document.querySelectorAll('{within('Contour')} select')].map((one) => one.value).join()",
                "dropout,optimizer.lr")
    texts = page.run(f"{found('Contour')}.drawn.texts")
    left = min(x for align, _, x, _ in texts if align == "right")
    x = Axis([(number_of(text), px) for align, text, px, _ in texts if align == "center"], False)
    y = Axis([(number_of(text), py) for align, text, px, py in texts if align == "right" and px == left], True)
    dots = [(x.place(settings_of(n)["dropout"]), y.place(settings_of(n)["optimizer.lr"])) for n in NUMBERS]
    drawn = page.run(f"{found('Contour')}.drawn.dots")
    for px, py in dots:
        assert any(abs(px - qx) < 2.5 and abs(py - qy) < 2.5 for qx, qy in drawn), (px, py, drawn)
    assert len(drawn) == TRIALS, drawn
    width, height = page.run(f"[{found('Contour')}.clientWidth, {found('Contour')}.clientHeight]")
    box = (62, 20, width - 62 - 76, height - 54)

    def share(px, py):
        return (px - box[0]) / box[2], 1 - (py - box[1]) / box[3]

    points = [(*share(*dots[n - 1]), accuracy_of(n)) for n in NUMBERS]
    beside = [(number_of(text), py) for align, text, px, py in texts if align == "left" and px > box[0] + box[2]]
    levels = [value for value, _ in beside]
    assert len(levels) > 3 and levels == sorted(levels), levels
    tall = beside[0][1] - beside[1][1]
    bar = [(width - 56, round(beside[0][1] + tall / 2 - tall * band)) for band in range(len(levels) + 1)]
    colours = pixels(page, found("Contour"), bar)
    light = [sum(one[:3]) for one in colours]
    assert all(one > other for one, other in zip(light, light[1:])), "the best band is the fullest"
    wanted = {}
    for i in range(1, 20):
        for j in range(1, 20):
            px, py = round(box[0] + box[2] * i / 20), round(box[1] + box[3] * j / 20)
            value = field_at(points, *share(px, py))
            near = any(math.hypot(px - qx, py - qy) < 9 for qx, qy in dots)
            # A line between two bands is as exact as the cells of the grid.
            if not near and min(abs(value - level) for level in levels) > 0.008:
                wanted[px, py] = sum(value >= level for level in levels)
    assert len(wanted) > 100, wanted
    for (place, band), seen in zip(wanted.items(), pixels(page, found("Contour"), wanted)):
        assert seen == colours[band], (place, band, seen, colours)
    choose(page, "X parameter", "optimizer.lr", within("Contour"))
    page.expect("location.hash.includes('cx=optimizer.lr') && location.hash.includes('cy=dropout')")
    page.expect(f"{found('Contour', 'figcaption')}.textContent", "accuracy over optimizer.lr and dropout, 40 trials;"
                " full blue: better; orange: best; between trials: their mean by distance")
    opened(page, 94)
    width, height = page.run(f"[{found('Contour')}.clientWidth, {found('Contour')}.clientHeight]")
    middle = round(62 + (width - 138) / 2 + 5), round(20 + (height - 54) / 2 + 5)
    assert pixels(page, found("Contour"), [middle])[0][3] == 0, "there is no field far from all trials"


def front_of(points, signs):
    """Returns the points that no other dominates."""
    def better(a, b):
        return a != b and all(s * p <= s * q for s, p, q in zip(signs, a, b))

    return [one for one in points if not any(better(other, one) for other in points)]


def fronted(page):
    """The front is the trials that no other beats in both metrics; a person chooses the metrics and goals."""
    opened(page, 91)
    points = [(latency_of(n), accuracy_of(n)) for n in NUMBERS]
    for goals, signs in ((("minimize", "maximize"), (1, -1)), (("maximize", "maximize"), (-1, -1)),
                         (("maximize", "minimize"), (-1, 1))):
        choose(page, "X goal", goals[0], within("Pareto front"))
        choose(page, "Y goal", goals[1], within("Pareto front"))
        front = front_of(points, signs)
        caption = page.run(f"{found('Pareto front', 'figcaption')}.textContent")
        assert caption.startswith(f"{goals[1]} accuracy, {goals[0]} latency_ms: {len(front)} of 40 trials on the front"
                                  ": 91/"), caption
        drawn = Drawn(page, found("Pareto front"))
        drawn.expect(drawn.dots, points, "a dot for each trial")
        best, _, rest, _ = page.run(COLOURS)
        dots = places_of(page, "Pareto front")
        on = [(x, y) for x, y, colour in dots if colour == best]
        drawn.expect(on, front, "orange dots")
        assert len(on) == len(front) and {colour for *_, colour in dots} == {best, rest}
        front.sort(key=lambda one: signs[0] * one[0])
        corners = [front[0]] + [corner for one, other in zip(front, front[1:])
                                for corner in ((other[0], one[1]), other)]
        line, = drawn.curves
        drawn.expect(line, corners, "the line of the front")
    page.expect("location.hash.includes('fxgoal=maximize') && location.hash.includes('fygoal=minimize')")
    choose(page, "X axis", "training seconds", within("Pareto front"))
    page.until(f"{found('Pareto front', 'figcaption')}.textContent.includes('minimize training seconds')")
    page.run(SAVED)
    _, text = saved_by(page, "Save Pareto front as CSV")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["trial", "training seconds", "accuracy", "on the front", "parameters"], head
    front = front_of([(20 + n % 7, accuracy_of(n)) for n in NUMBERS], (1, 1))
    assert {(float(row[1]), float(row[2])) for row in rows if row[3] == "yes"} == set(front), rows


def constrained(page):
    """The objectives of a search are the axes of the front, and a trial that breaks a constraint is not on it."""
    opened(page, 95)
    page.until(f"{found('Pareto front', 'figcaption')}?.textContent")
    page.expect(f"{found('Pareto front', 'figcaption')}.textContent",
                "maximize accuracy, minimize params_millions: 3 of 5 trials on the front: 95/1, 95/3, 95/2;"
                " 1 infeasible (hollow); 1 without both values; orange: on the front; grey: others")
    best, _, rest, ground = page.run(COLOURS)
    drawn = Drawn(page, found("Pareto front"))
    dots = places_of(page, "Pareto front")
    for n, colour in ((1, best), (2, best), (3, best), (4, rest), (5, ground)):
        accuracy, size = OBJECTIVES[n - 1]
        assert at(dots, *drawn.place(size, accuracy)) == [colour], (n, dots)
    page.expect(f"{found('Best so far', 'figcaption')}.textContent.startsWith("
                "'6 trials over trial; best so far 0.9, of 95/2')")
    order = page.run("[...document.querySelectorAll('[role=region][aria-label=Trials] tbody a')]"
                     ".map((one) => one.textContent)")
    assert order == ["95/2", "95/3", "95/4", "95/1", "95/6", "95/5"], order
    facts = page.run("document.querySelector('dl.facts').textContent")
    assert "maximize accuracy, minimize params_millions" in facts, facts
    assert "params_millions <= 8; 1 infeasible" in facts, facts
    assert "Pareto front95/1, 95/2, 95/3" in facts, facts
    # Each objective has one column, and no number stands twice in a row.
    titles = page.run("[...document.querySelectorAll('[role=region][aria-label=Trials] thead th')]"
                      ".map((one) => one.textContent.trim())")
    for name in ("accuracy", "params_millions"):
        assert sum(name in title for title in titles) == 1, titles
    row = page.run("[...document.querySelector('[role=region][aria-label=Trials] tbody tr').children]"
                   ".map((one) => one.textContent)")
    accuracy, size = OBJECTIVES[1]
    assert row.count(str(accuracy)) == 1 and row.count(str(size)) == 1, row
    page.expect("document.querySelector('[role=region][aria-label=Trials]').textContent.includes("
                "'params_millions 9 breaks params_millions <= 8')")


def computed(page):
    """The front and the field follow their rules for any points, with equal values and without."""
    opened(page, 91)
    drawn = random.Random(5)
    for size in (0, 1, 2, 30):
        points = [(drawn.randrange(6), drawn.randrange(6)) for _ in range(size)]
        for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            items = json.dumps([{"x": x, "y": y} for x, y in points] + [{"x": None, "y": 1}])
            got = page.run(f"import('/page/front.js').then((one) => one.frontOf({items}.map(({{x, y}}) =>"
                           f" ({{x: x ?? NaN, y}})), {list(signs)}).map(({{x, y}}) => [x, y]))")
            assert sorted(map(tuple, got)) == sorted(front_of(points, signs)), (points, signs, got)
    points = [(drawn.random(), drawn.random(), drawn.random()) for _ in range(12)] + [(0.5, 0.5, 1), (0.5, 0.5, 3)]
    given = json.dumps([{"x": x, "y": y, "value": v} for x, y, v in points])
    for x, y in ((0, 0), (0.5, 0.5), (0.51, 0.3), (1, 1), (0, 1)):
        got = page.run(f"import('/page/field.js').then((one) => one.valueAt({given}, {x}, {y}))")
        wanted = field_at(points, x, y)
        assert got == wanted or abs((got or math.nan) - wanted) < 1e-9 or (got is None and math.isnan(wanted)), (x, y)
    got = page.run(f"import('/page/field.js').then((one) => one.fieldOf(Array.from({{length: 5000}}, (_, i) =>"
                   " ({x: i / 5000, y: i % 7 / 7, value: 2}))).every((v) => Math.abs(v - 2) < 1e-9))")
    assert got, "5,000 equal trials make an equal field"


def alike(page):
    """Programs and models have one layout, that of a report, with the search metric first in each picture."""
    layout = LAYOUT.read_text(encoding="utf-8").splitlines()
    order = "[...document.querySelectorAll('main section')].map((one) => one.ariaLabel)"
    seen = {}
    for number in (91, 92):
        opened(page, number)
        page.until(f"!{found('Best so far', 'canvas')}.closest('section').hidden")
        seen[number] = [one for one in page.run(order) if one not in ("Parameters", "Rungs")]
        metric = {91: "accuracy", 92: "val_loss"}[number]
        page.expect(f"{found('Curves', 'select')}.value", metric)
        for name in ("Best so far", "Slices", "Contour", "Pareto front"):
            page.expect(f"{found(name)}.drawn.texts.some(([, text]) => text === '{metric}')")
        page.expect("[...document.querySelectorAll('[role=region][aria-label=Trials] th')][2].textContent",
                    f"best {metric}")
    assert seen[91] == seen[92] == layout, seen
    page.expect(f"{found('Slices', 'figcaption')}.textContent.endsWith('1 outlier at the edge, at 1,000,000,000')")
    opened(page, 93)
    page.expect(f"[...document.querySelectorAll('{within('Contour')}, {within('Pareto front')}')]"
                ".every((one) => one.hidden)")


def sized(page):
    """From a telephone to a wall, light and dark, nothing is cut off, and each picture shows something."""
    for dark in (False, True):
        page.theme(dark)
        for width in (390, 1280, 2560):
            page.resize(width, 900)
            opened(page, 91)
            page.until(f"{found('Importance', 'table')}")
            page.expect_no_sideways()
            # A picture is drawn anew in the frame after its size has changed.
            page.until(f"[...document.querySelectorAll('{within('Parameters')} canvas')].filter((one) =>"
                       " one.checkVisibility()).every((one) => one.drawn?.texts.every(([align, text, x, y]) =>"
                       " x >= 0 && x <= one.clientWidth && y >= 0 && y <= one.clientHeight))",
                       "texts within each picture")
            page.shot(f"search-{width}{'-dark' if dark else ''}")
    page.theme(False)
    page.resize(1280, 900)
    opened(page, 91)
    page.expect_usable()
    page.expect_tree()


def parameters(page):
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=ANSWERS % json.dumps(json.dumps(made())))
    for case in (computed, sliced, contoured, fronted, constrained, alike, sized):
        case(page)
    page.expect_no_errors()
