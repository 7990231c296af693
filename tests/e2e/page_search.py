"""Cases of page_browser.py about the page of a search: the best value so far, the order of trials, and what a program's
page offers. The cases make their own answers of the API."""

import csv
import io
import json
import re
import xml.etree.ElementTree

from page_cases import press, rows_of
from page_charts import CAPTION, NEAR, NOTED, Drawn
from page_pictures import ANSWERS, CURVES, answers, experiment_of, listed, trial_of

HISTORY = "document.querySelector('section[aria-label=\"Best so far\"]')"
TIMELINE = "document.querySelector('section[aria-label=Timeline]')"
TABLE = "[role=region][aria-label=Trials]"
# The accuracy of trials 1 to 12: four settings, each with three seeds. The best is trial 8.
VALUES = [0.50, 0.52, 0.48, 0.61, 0.60, 0.63, 0.70, 0.74, 0.72, 0.55, 0.53, 0.57]
STEPS = [10, 20, 30]
START_OF = {3: 9.5}  # minutes after the submission; of the others, a minute before their end


def settings_of(number):
    lr, opt = [(0.1, "adam"), (0.1, "sgd"), (0.01, "adam"), (0.01, "sgd")][(number - 1) // 3]
    return {"lr": lr, "opt": opt, "seed": (number - 1) % 3 + 1}


def curve_of(number, metric="accuracy"):
    value = VALUES[number - 1]
    return [s / 20 for s in STEPS] if metric == "epoch" else [round(value - 0.2 + s / 150, 6) for s in STEPS]


def made():
    """81: a program with 13 trials, of which the last has no value; 82: one trial of a program, with a loss;
    83: one with a validation loss alone."""
    trials = [trial_of(81, i, VALUES[i - 1], assignments=settings_of(i),
                       started_at=f"2026-01-02T03:{9 + 2 * i:02}:05Z",
                       ended_at=f"2026-01-02T03:{10 + 2 * i}:05Z") for i in range(1, 13)]
    trials[2]["started_at"] = "2026-01-02T03:13:35Z"
    trials.append(trial_of(81, 13, None, assignments=settings_of(1), state="running", cause=None, ended_at=None))
    curves = {str(i): {name: {"steps": STEPS, "values": curve_of(i, name)} for name in ("accuracy", "epoch")}
              for i in range(1, 13)}
    curves["13"] = {}
    file = experiment_of(81, "accuracy", "maximize", 8, {"command": ["./train"]}, 13)
    file["spec"]["parameters"] = [{"path": "lr", "values": [0.1, 0.01]}, {"path": "opt", "values": ["adam", "sgd"]}]
    rows = {name: {"steps": STEPS, "values": [3, 2, 1]} for name in ("loss", ".training_seconds", "accuracy")}
    one = answers(experiment_of(82, "accuracy", "maximize", 1, {"command": ["./train"]}, 1),
                  [trial_of(82, 1, 0.5, assignments={})], {"1": rows})
    loss = answers(experiment_of(83, "val_loss", "minimize", 1, {"command": ["./train"]}, 1),
                   [trial_of(83, 1, 0.5, assignments={})], {"1": {"val_loss": {"steps": STEPS, "values": [3, 2, 1]}}})
    loss["experiments/83/trials/1/evaluations"] = listed([{"step": 30, "samples": [], "metrics": []}])
    loss["experiments/83/trials/1"] |= {
        "attempt_list": [{
            "attempt": 1, "cause": "hang", "message": "no report for 2s", "rank": 0, "resumed_step": 0, "last_step": 30,
            "stop_reason": "", "uncharged": False, "reason": "", "members": [], "running_at": None,
            "started_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-02T03:05:05Z"}],
        "hang": {"attempt": 1, "ranks": [
            {"rank": 0, "processes": [{"doing": "process 7 (<b>) sleeps", "frames": ["poll ()", "main ()"]}]},
            {"rank": 1, "processes": [{"doing": "process 9 (b) runs", "frames": []}]}]}}
    return {**answers(file, trials, curves), **one, **loss}


def options_of(page, label, within="section[aria-label=Curves]"):
    """Returns the texts of a choice; None: it is not there."""
    return page.run(f"(() => {{ const box = document.querySelector('{within} select[data-focus=\"{label}\"]');"
                    " return box && [...box.options].map((one) => one.textContent); })()")


def choose(page, label, value, within="section[aria-label=Curves]"):
    page.run(f"(() => {{ const box = document.querySelector('{within} select[data-focus=\"{label}\"]');"
             f" box.value = {value!r}; box.dispatchEvent(new Event('change')); }})()")


def best_so_far(page):
    """Each trial with a value is a dot, and the line changes only where a trial is better than all before it."""
    caption = f"{HISTORY}.querySelector('figcaption').textContent"
    page.show("/experiments/81", f"{CAPTION}.includes('12 curves')")
    page.expect(caption, "12 trials over trial; best so far 0.74, of 81/8; 1 has no value yet;"
                " orange: best; blue: best quarter; grey: others")
    drawn = Drawn(page, f"{HISTORY}.querySelector('canvas')")
    drawn.expect(drawn.dots, list(enumerate(VALUES, 1)), "a dot for each trial")
    line, = drawn.curves
    corners = [(1, 0.5), (2, 0.5), (2, 0.52), (4, 0.52), (4, 0.61), (6, 0.61), (6, 0.63), (7, 0.63), (7, 0.7), (8, 0.7),
               (8, 0.74)]
    drawn.expect(line[:-1], corners, "the best value so far")
    assert line[-1][0] > drawn.x.place(12) and abs(line[-1][1] - line[-2][1]) < 1, line
    choose(page, "X axis", "time", "section[aria-label=\"Best so far\"]")
    page.expect(f"{caption}.startsWith('12 trials over minutes after submission; best so far 0.74, of 81/8')")
    page.expect("location.hash.includes('hover=time')")
    drawn = Drawn(page, f"{HISTORY}.querySelector('canvas')")
    drawn.expect(drawn.dots, [(8 + 2 * i, value) for i, value in enumerate(VALUES)], "a dot at each end")
    page.shot("best-so-far")
    page.show("/experiments/82", f"{CAPTION}.includes('1 curve')")
    page.expect(f"{HISTORY}.hidden")


def timed(page):
    """Each trial that has begun is a bar from its start to its end; one that goes on ends where the experiment does."""
    page.show("/experiments/81", f"{CAPTION}.includes('12 curves')")
    caption = f"{TIMELINE}.querySelector('figcaption').textContent"
    page.expect(caption, "13 trials over minutes after submission; at most 2 at once; orange: best; blue: finished;"
                " grey: others")
    drawn = Drawn(page, f"{TIMELINE}.querySelector('canvas')")
    bars = [((START_OF.get(i, 5 + 2 * i), i), (6 + 2 * i, i)) for i in range(1, 13)] + [((0, 13), (1, 13))]
    assert len(drawn.curves) == len(bars), drawn.curves
    for one in bars:
        assert any(all(abs(a - b) < NEAR for (x, y), at in zip(one, bar) for a, b in zip(drawn.place(x, y), at))
                   for bar in drawn.curves), (one, drawn.curves)
    best, good, rest = page.run("(() => { const style = getComputedStyle(document.documentElement);"
                                " return ['--k1', '--k0', '--rest'].map((name) => style.getPropertyValue(name).trim());"
                                " })()")
    colours = sorted(drawn.colours)
    assert colours == sorted([best, rest] + [good] * 11), colours
    page.run(f"{TIMELINE}.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', {{key: 'ArrowRight'}}))")
    page.expect(f"{TIMELINE}.querySelector('.tip').textContent.startsWith('81/1finished, 1 min 0 s')")
    page.shot("timeline")
    page.show("/experiments/82", f"{CAPTION}.includes('1 curve')")
    page.expect(f"{TIMELINE}.hidden")


def ordered(page):
    """The table begins with the metric and the parameters, and with the best trial."""
    page.show("/experiments/81", f"document.querySelectorAll('{TABLE} tbody tr').length === 13")
    by_value = sorted(range(1, 13), key=lambda i: -VALUES[i - 1])
    heads, *rows = rows_of(page, "Trials")
    assert [row[1].removesuffix("best") for row in rows] == [f"81/{i}" for i in [*by_value, 13]], rows
    page.expect(f"document.querySelector('{TABLE} tbody tr').className", "best")
    assert heads[1:6] == ["Trial", "best accuracy", "lr", "opt", "seed"], heads
    page.expect("[...document.querySelectorAll('main h2')].some((one) => one.textContent ==="
                " 'Trials (13), the best first')")


def offered(page):
    """A program's page offers the metrics and x axes that it reports, and no others."""
    page.show("/experiments/81", f"{CAPTION}.includes('12 curves')")
    page.until("document.querySelector('section[aria-label=Curves] select[data-focus=\"X axis\"]')")
    assert options_of(page, "Metric") == ["accuracy", "epoch"], options_of(page, "Metric")
    assert options_of(page, "X axis") == ["steps", "epochs"], options_of(page, "X axis")
    words = page.run("[...document.querySelectorAll('.pick label')].map((one) => one.textContent)")
    models = {"loss", "tokens/s", "best val_loss", "MFU", "Memory", "Communication", "perplexity", "HellaSwag",
              "Model size"}
    assert not models & set(words) and "epoch" in words, words
    choose(page, "X axis", "epoch")
    page.until("location.hash.includes('over=epoch')")
    page.until(f"{CURVES}.drawn.texts.some(([, text]) => text === 'epoch')")
    drawn = Drawn(page, CURVES)
    wanted = [(s / 20, v) for s, v in zip(STEPS, curve_of(8))]
    drawn.expect(drawn.curves[-1], wanted, "the best curve over epochs")
    page.show("/experiments/82", f"{CAPTION}.includes('1 curve')")
    page.until("document.querySelector('section[aria-label=Curves] select[data-focus=\"X axis\"]')")
    assert options_of(page, "Metric") == ["accuracy", "loss"], options_of(page, "Metric")
    assert options_of(page, "X axis") == ["steps", "training time"], options_of(page, "X axis")
    page.show("/experiments/83/trials/1", "document.querySelector('section[aria-label=Curves] figcaption')")
    page.until("[...document.querySelectorAll('section[aria-label=Curves] figure')]"
               ".filter((one) => one.checkVisibility()).map((one) => one.querySelector('figcaption').textContent)"
               ".join() === 'val_loss: 1 curve; now 1'", "a chart named after the only loss")
    page.expect("[...document.querySelectorAll('.hung li')].map((one) => one.textContent).join('; ')",
                "rank 0, process 7 (<b>) sleeps: poll (), called by main (); rank 1, process 9 (b) runs")
    page.show("/compare?of=81/1,81/8", f"{CAPTION}.includes('2 curves')")
    page.until("document.querySelector('section[aria-label=Curves] select[data-focus=\"X axis\"]')")
    assert options_of(page, "Metric") == ["accuracy", "epoch"], options_of(page, "Metric")


def added(page):
    """A person adds charts beside the first, and the address contains them."""
    chart = "section[aria-label=\"Chart 2\"]"
    page.show("/experiments/81", f"{CAPTION}.includes('12 curves')")
    page.until("document.querySelector('section[aria-label=Curves] select[data-focus=\"X axis\"]')")
    press(page, "Add a chart")
    caption = f"document.querySelector('{chart} figcaption')?.textContent"
    page.until(f"{caption}.startsWith('Chart 2: 12 curves; now from 1.5')", "a chart of the epoch")
    choose(page, "Metric", "accuracy", chart)
    choose(page, "X axis", "epoch", chart)
    page.until(f"{caption}.includes('the highest now is 0.74, of 81/8')")
    page.run("window.before = true; location.reload()")
    page.until(f"!window.before && {caption}?.includes('the highest now is 0.74, of 81/8')", "the chart after a reload")
    drawn = Drawn(page, f"document.querySelector('{chart} canvas')")
    drawn.expect(drawn.curves[-1], [(s / 20, v) for s, v in zip(STEPS, curve_of(8))], "the best curve over epochs")
    drawn = Drawn(page, CURVES)
    drawn.expect(drawn.curves[-1], list(zip(STEPS, curve_of(8))), "the first chart is as it was")
    tops = page.run("['Curves', 'Best so far', 'Chart 2'].map((name) => document.querySelector("
                    "`section[aria-label=\"${name}\"]`).getBoundingClientRect().top)")
    assert tops[0] == tops[1] < tops[2], tops
    page.shot("added")
    page.run(f"document.querySelector('{chart} button[aria-label=\"Remove Chart 2\"]').click()")
    page.expect(f"document.querySelector('{chart}')", None)
    page.expect("location.hash.includes('chart2')", False)


SETTINGS = ["lr=0.01 opt=adam", "lr=0.01 opt=sgd", "lr=0.1 opt=adam", "lr=0.1 opt=sgd"]


def group_of(name):
    """Returns the curves of the trials of a group, as [[value at each step], ...]."""
    return [curve_of(i) for i in range(1, 13)
            if "lr={lr} opt={opt}".format(**settings_of(i)) == name or f"opt={settings_of(i)['opt']}" == name]


def means(curves):
    return [sum(values) / len(values) for values in zip(*curves)]


def grouped(page):
    """Trials of one group are one curve: their mean, in the band between their lowest and highest values."""
    page.show("/experiments/81", f"{CAPTION}.includes('12 curves')")
    choices = options_of(page, "Group curves by", "main")
    assert choices == ["nothing", "all but the seed", "lr", "opt", "seed"], choices
    choose(page, "Group curves by", "settings", "main")
    page.until(f"{CAPTION} === 'Curves: 4 groups; the highest now is 0.72, of lr=0.01 opt=adam'")
    drawn = Drawn(page, CURVES)
    for curve, area, name in zip(drawn.curves, drawn.areas, SETTINGS, strict=True):
        trials = group_of(name)
        assert len(trials) == 3, trials
        drawn.expect(curve, list(zip(STEPS, means(trials))), f"the mean of {name}")
        drawn.expect(area, [(s, side(values)) for s, values in zip(STEPS, zip(*trials)) for side in (min, max)],
                     f"the band of {name}")
    legend = page.run("[...document.querySelectorAll('section[aria-label=Curves] .legend li')]"
                      ".map((one) => one.textContent)")
    assert legend == [f"{name}3 trials" for name in SETTINGS], legend
    page.shot("grouped")
    choose(page, "Group curves by", "p.opt", "main")
    page.until(f"{CAPTION}.startsWith('Curves: 2 groups')")
    drawn = Drawn(page, CURVES)
    for curve, name in zip(drawn.curves, ("opt=adam", "opt=sgd"), strict=True):
        drawn.expect(curve, list(zip(STEPS, means(group_of(name)))), f"the mean of {name}")
    page.expect("location.hash.includes('group=p.opt')")


SAVED = """URL.createObjectURL = (blob) => { window.saved = blob; return "#saved"; };
    HTMLAnchorElement.prototype.click = function() { window.savedAs = this.download; };"""


def saved_by(page, name):
    """Presses a button that saves a chart; returns the file's name and text."""
    page.run(f"document.querySelector('button[aria-label=\"{name}\"]').click()")
    return page.run("savedAs"), page.run("saved.text()")


def saved(page):
    """Each chart can be saved: as CSV with all its values, and as SVG that shows what the chart shows."""
    page.show("/experiments/81?group=settings", f"{CAPTION}.includes('4 groups')")
    page.run(SAVED)
    name, text = saved_by(page, "Save Curves as CSV")
    assert name == "experiments-81-Curves.csv", name
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["group", "trials", "step", "mean accuracy", "lowest accuracy", "highest accuracy"], head
    wanted = [[name, 3, s, sum(values) / 3, min(values), max(values)] for name in SETTINGS
              for s, values in zip(STEPS, zip(*group_of(name)))]
    assert len(rows) == len(wanted), rows
    for row, want in zip(rows, wanted):
        assert row[0] == want[0] and all(abs(float(a) - b) < 1e-9 for a, b in zip(row[1:], want[1:])), (row, want)
    name, text = saved_by(page, "Save Curves as SVG")
    assert name == "experiments-81-Curves.svg", name
    root = xml.etree.ElementTree.fromstring(text)
    of = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in root.iter(f"{of}text")]
    assert "accuracy" in texts and "step" in texts and "lr=0.1 opt=sgd  3 trials" in texts, texts
    strokes = [one for one in root.iter(f"{of}path") if one.get("stroke-width") == "1.3"]
    drawn = Drawn(page, CURVES)
    for one, curve in zip(strokes, drawn.curves, strict=True):
        points = [tuple(map(float, pair)) for pair in re.findall(r"[ML]([\d.]+) ([\d.]+)", one.get("d"))]
        assert len(points) == len(curve) and all(abs(a - b) < 0.01 for p, q in zip(points, curve)
                                                 for a, b in zip(p, q)), (points, curve)
    _, text = saved_by(page, "Save Best so far as CSV")
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["trial", "parameters", "trial", "accuracy", "best accuracy so far"], head
    so_far = [max(VALUES[:i + 1]) for i in range(12)]
    assert [(row[0], float(row[3]), float(row[4])) for row in rows] == [
        (f"81/{i + 1}", VALUES[i], so_far[i]) for i in range(12)], rows
    for chart in ("Best so far", "Parallel coordinates", "Scatter plot"):
        _, text = saved_by(page, f"Save {chart} as SVG")
        assert len(list(xml.etree.ElementTree.fromstring(text).iter(f"{of}path"))) > 12, chart


def leave(page):
    """Closes the dialog, which the page removes a moment after the key."""
    page.key("Escape")
    page.until("!document.querySelector('dialog')", "the dialog is closed")


def copies(page):
    """A new experiment is made from the file of another: edited, checked and submitted, with the same code."""
    page.show("/experiments/1", "!document.querySelector('.acts').hidden")
    press(page, "New from this…")
    box = "document.querySelector('dialog textarea')"
    result = "document.querySelector('dialog [role=status]').textContent"
    file = page.run(f"{box}.value")
    assert file.startswith("version: 1\nname: mine\n"), file
    page.expect_tree(landmarks=False)
    write = "{0}.value = {1}; {0}.dispatchEvent(new Event('input'))"
    page.run(write.format(box, json.dumps(file.replace("search:", "serch:"))))
    leave(page)
    page.until("document.getElementById('said').textContent.startsWith('Nothing was submitted.')")
    press(page, "New from this…")
    page.expect(f"{box}.value", file.replace("search:", "serch:"))
    press(page, "Restore the file")
    page.expect(f"{box}.value", file)
    leave(page)
    press(page, "New from this…")
    page.expect(f"{box}.value", file)
    page.expect("[...document.querySelectorAll('dialog button')].some((one) => one.textContent === 'Restore the file')",
                False)
    page.run(write.format(box, json.dumps(file.replace("search:", "serch:"))))
    press(page, "Check")
    page.until(f"{result}.includes('serch')", "the error of the file")
    page.shot("copy-error")
    line = file.split("\n").index("search: {metric: score}")
    assert page.run(f"{result}").startswith(f"error line {line + 1} "), page.run(result)
    press(page, f"line {line + 1}")
    page.expect(f"{box}.value.slice({box}.selectionStart, {box}.selectionEnd)", "serch: {metric: score}")
    press(page, "Submit")
    page.until("document.querySelector('dialog .error').textContent === 'The file has errors; nothing was submitted.'")
    page.run(write.format(box, json.dumps(file.replace("name: mine", "name: other").replace("0.01]", "0.01, 0.001]"))))
    press(page, "Check")
    page.until(f"{result}.includes('3 trials on cpu; nothing was submitted.')", "the check")
    page.expect("document.querySelector('dialog .error').hidden")
    for width in (390, 1280):
        page.resize(width, 900)
        page.expect_no_sideways()
        page.shot(f"copy-{width}")
    page.expect("fetch('/api/v1/experiments').then((one) => one.json()).then((one) => one.items.length)", 1)
    press(page, "Submit")
    page.until("location.hash === '#/experiments/2' && document.querySelector('h1').textContent === '2 other'")
    page.until("document.getElementById('said').textContent.includes('experiment 2: 3 trials on cpu')")
    page.until("!document.querySelector('dialog')", "the dialog is closed")
    digests = page.run("Promise.all([1, 2].map((one) => fetch(`/api/v1/experiments/${one}`)"
                       ".then((one) => one.json()).then((one) => one.spec.code.digest)))")
    assert digests[0] and digests[0] == digests[1], digests
    page.expect_no_errors()


def searches(page):
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=ANSWERS % json.dumps(json.dumps(made())))
    for case in (best_so_far, timed, ordered, offered, added, grouped, saved):
        case(page)
    page.expect_no_errors()
