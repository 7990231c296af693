"""Cases of page_browser.py about the page of a search: the best value so far, the order of trials, and what a program's
page offers. The cases make their own answers of the API."""

import json

from page_charts import CAPTION, NOTED, Drawn
from page_pictures import ANSWERS, CURVES, answers, experiment_of, trial_of

HISTORY = "document.querySelector('section[aria-label=\"Best so far\"]')"
TABLE = "[role=region][aria-label=Trials]"
# The accuracy of trials 1 to 12: four settings, each with three seeds. The best is trial 8.
VALUES = [0.50, 0.52, 0.48, 0.61, 0.60, 0.63, 0.70, 0.74, 0.72, 0.55, 0.53, 0.57]
STEPS = [10, 20, 30]


def settings_of(number):
    lr, opt = [(0.1, "adam"), (0.1, "sgd"), (0.01, "adam"), (0.01, "sgd")][(number - 1) // 3]
    return {"lr": lr, "opt": opt, "seed": (number - 1) % 3 + 1}


def curve_of(number, metric="accuracy"):
    value = VALUES[number - 1]
    return [s / 20 for s in STEPS] if metric == "epoch" else [round(value - 0.2 + s / 150, 6) for s in STEPS]


def made():
    """81: a program with 13 trials, of which the last has no value; 82: one trial of a program, with a loss."""
    trials = [trial_of(81, i, VALUES[i - 1], assignments=settings_of(i),
                       ended_at=f"2026-01-02T03:{10 + 2 * i}:05Z") for i in range(1, 13)]
    trials.append(trial_of(81, 13, None, assignments=settings_of(1), state="running", cause=None, ended_at=None))
    curves = {str(i): {name: {"steps": STEPS, "values": curve_of(i, name)} for name in ("accuracy", "epoch")}
              for i in range(1, 13)}
    curves["13"] = {}
    file = experiment_of(81, "accuracy", "maximize", 8, {"command": ["./train"]}, 13)
    file["spec"]["parameters"] = [{"path": "lr", "values": [0.1, 0.01]}, {"path": "opt", "values": ["adam", "sgd"]}]
    rows = {name: {"steps": STEPS, "values": [3, 2, 1]} for name in ("loss", ".training_seconds", "accuracy")}
    one = answers(experiment_of(82, "accuracy", "maximize", 1, {"command": ["./train"]}, 1),
                  [trial_of(82, 1, 0.5, assignments={})], {"1": rows})
    return {**answers(file, trials, curves), **one}


def rows_of(page):
    return page.run(f"[...document.querySelectorAll('{TABLE} tbody tr')]"
                    ".map((row) => row.querySelector('a').textContent)")


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


def ordered(page):
    """The table begins with the metric and the parameters, and with the best trial."""
    page.show("/experiments/81", f"document.querySelectorAll('{TABLE} tbody tr').length === 13")
    by_value = sorted(range(1, 13), key=lambda i: -VALUES[i - 1])
    assert rows_of(page) == [f"81/{i}" for i in [*by_value, 13]], rows_of(page)
    page.expect(f"document.querySelector('{TABLE} tbody tr').className", "best")
    heads = page.run(f"[...document.querySelectorAll('{TABLE} thead th')].map((one) => one.textContent)")
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
    page.show("/compare?of=81/1,81/8", f"{CAPTION}.includes('2 curves')")
    page.until("document.querySelector('section[aria-label=Curves] select[data-focus=\"X axis\"]')")
    assert options_of(page, "Metric") == ["accuracy", "epoch"], options_of(page, "Metric")


def searches(page):
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=ANSWERS % json.dumps(json.dumps(made())))
    for case in (best_so_far, ordered, offered):
        case(page)
    page.expect_no_errors()
