"""Cases of page_browser.py about difficult curves: which end is the better one, a curve of one point, a
value far from all others, many curves, and a program's metrics. Each case makes its own answers of the API."""

import json

from page_charts import CAPTION, NOTED, Drawn, box_of, number_of

CURVES = "document.querySelector('section[aria-label=Curves] canvas')"

# Answers the paths in FAKE in place of the coordinator.
ANSWERS = """(() => {
    const ask = window.fetch;
    const fake = JSON.parse(%s);
    window.fetch = (path, ...more) => {
      const none = {steps: [], values: []};
      const [at, query] = String(path).replace("/api/v1/", "").split("?");
      if (at.endsWith("/curves") && at in fake) {
        const options = new URLSearchParams(query);
        const items = options.get("trial").split(",").map(Number).map((trial) => ({trial, complete: true,
          metrics: Object.fromEntries(options.get("metric").split(",").map(
            (name) => [name, Object.hasOwn(fake[at][trial] ?? {}, name) ? fake[at][trial][name] : none]))}));
        return Promise.resolve(new Response(JSON.stringify({items})));
      }
      return at in fake ? Promise.resolve(new Response(JSON.stringify(fake[at]))) : ask(path, ...more);
    };
  })();"""


def listed(items):
    return {"items": items, "next_page_token": None, "left_out": 0}


def trial_of(experiment, number, value, **more):
    return {"id": f"{experiment}/{number}", "experiment": experiment, "trial": number, "state": "finished",
            "cause": "finished", "message": "", "waiting": "", "attempts": 1, "step": 30, "target_steps": 30,
            "progress": 0, "assignments": {"lr": number / 1000},
            "latest": None, "val_loss": None, "best_val_loss": None,
            "best_val_step": None, "metric_value": value, "metric_step": 30, "world_size": 1, "tokens_per_second": None,
            "eta_seconds": None, "comm_ratio": None, "comm_exposed_ratio": None, "workers": [], "seed": 1,
            "started_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-02T03:05:05Z", "training_seconds": 37.5,
            "model_parameters": None,
            "tokens_per_step": None, "train_tokens": None, "provenance": None, "data_fingerprint": None, **more}


def experiment_of(number, metric, goal, best, base, trials):
    return {"id": str(number), "experiment": number, "name": "made", "state": "finished", "trials": trials,
            "running": 0, "pending": 0, "finished": trials, "failed": 0,
            "cancelled": 0, "stopped_early": 0, "progress_ratio": 1,
            "best_trial": best, "best_value": 0.5, "metric": metric, "goal": goal, "labels": {}, "note": "",
            "submitted_at": "2026-01-02T03:04:05Z", "ended_at": "2026-01-02T03:05:05Z", "submitted_by": "ann",
            "spec": {"base": base, "search": {"method": "asha"}, "parameters": []}, "file_text": "version: 1\n",
            "edits": [], "rungs": [], "rung_list": [], "paused": False, "archived": False, "search_end": ""}


def answers(experiment, trials, curves):
    at = f"experiments/{experiment['experiment']}"
    made = {at: experiment, f"{at}/trials": listed(trials), f"{at}/curves": curves,
            f"{at}/importance": {"items": [], "metric": experiment["metric"], "note": ""}}
    for one in trials:
        path = f"{at}/trials/{one['trial']}"
        made[path] = {**one, "explanation": "It finished.", "attempt_list": [], "takeover_list": [],
                      "last_checkpoint": None, "chosen": "", "device": "cpu", "stage_wait_ratio": None,
                      "bubble_ratio": None}
        made[f"{path}/evaluations"] = listed([{"step": 30, "samples": [], "metrics": [
            {"name": name, "value": 1} for name in curves[str(one["trial"])] if name != "loss"]}])
        made[f"{path}/logs"] = {**listed([]), "next_page_token": "1"}
    made[f"{at}/checkpoints"] = listed([])
    return made


def made():
    """71: a program whose metric is maximized, with one value for most trials; 72: 40 trials of a model, one with a
    spike."""
    program = [trial_of(71, i, 0.2 + i / 100) for i in range(1, 13)]
    curves = {str(i): {"accuracy": {"steps": [10], "values": [0.2 + i / 100]}} for i in range(1, 13)}
    curves["12"] = {"accuracy": {"steps": [10, 20, 30], "values": [0.3, 0.31, 0.32]}}
    made = answers(experiment_of(71, "accuracy", "maximize", 12, {"command": ["./train"]}, 12), program, curves)
    model = [trial_of(72, i, 2 + i / 100, best_val_loss=2.0, tokens_per_step=100, train_tokens=1500, latest={
        "step": 30, "loss": 2.0, "seconds": 1, "eval_seconds": 0, "checkpoint_seconds": 0}) for i in range(1, 41)]
    model[39]["metric_value"] = 1e9
    steps = list(range(1, 31))
    curves = {str(i): {"val_loss": {"steps": steps, "values": [3 - s / 30 + i / 100 for s in steps]},
                       "loss": {"steps": steps, "values": [3.0] * 30},
                       ".training_seconds": {"steps": [1, 30], "values": [2, 60]}} for i in range(1, 41)}
    curves["3"]["val_loss"]["values"][15] = 1e6
    made |= odd()
    return {**made, **answers(experiment_of(72, "val_loss", "minimize", 1, {"command": []}, 40), model, curves)}


def odd():
    """73: parameters and metrics with the names of properties that every JavaScript object has; 74: no parameters;
    75: a long name, two equal trials and one whose value never was a number; 76: only such a trial."""
    given = [{"constructor": 1, "toString": 2, "__proto__": 3, "search": 4}, {}]
    trials = [trial_of(73, i, 0.5, assignments=given[i - 1]) for i in (1, 2)]
    of = {"steps": [10, 20], "values": [7, 8]}
    curves = {"1": {"constructor": of, "__proto__": of}, "2": {"accuracy": of}}
    made = answers(experiment_of(73, "constructor", "maximize", 1, {"command": ["./train"]}, 2), trials, curves)
    long = "a_parameter_with_a_name_that_is_longer.than_any_telephone_is_wide"
    tied = [trial_of(75, i, 0.5, assignments={long: i}) for i in (1, 2, 3)]
    nothing = {"steps": [10, 20], "values": [None, None]}
    curves = {"1": {"accuracy": of}, "2": {"accuracy": of}, "3": {"accuracy": nothing}}
    file = experiment_of(75, "accuracy", "maximize", 1, {"command": ["./train"]}, 3)
    file["spec"]["parameters"] = [{"path": long, "values": [1, 2, 3]}]
    made |= answers(file, tied, curves)
    made |= answers(experiment_of(76, "accuracy", "maximize", 0, {"command": ["./train"]}, 1),
                    [trial_of(76, 1, None)], {"1": {"accuracy": nothing}})
    other = [trial_of(74, 1, 0.5, assignments={})]
    other = answers(experiment_of(74, "accuracy", "maximize", 1, {"command": ["./train"]}, 1), other,
                    {"1": {"accuracy": of}})
    other["experiments/74"]["spec"]["search"] = {"method": "grid"}
    return {**made, **other}


def names(page):
    """Users' names work, even those of properties that every JavaScript object has."""
    cells = ("[...document.querySelectorAll('[role=region][aria-label=%s] tbody tr')]"
             ".map((row) => [...row.cells].map((one) => one.textContent).join('|'))")
    page.show("/compare?of=73/1,73/2,74/1", f"{CAPTION}.includes('1 curve')")
    found = page.run(cells % '"Differing settings"')
    assert sorted(found) == ["__proto__|3|–|–", "constructor|1|–|–", "search method|asha|asha|grid", "search|4|–|–",
                             "toString|2|–|–"], found
    page.show("/experiments/73?x=constructor&y=toString",
              "document.querySelectorAll('[role=region][aria-label=Trials] tbody tr').length === 2")
    page.expect("document.querySelector('section[aria-label=\"Scatter plot\"] figcaption').textContent"
                ".split(';', 2).join(';')",
                "toString over constructor, 1 trial; 1 has no value")
    page.shot("names")


def numbers(page):
    """Names the first of several trials with equal values, and counts values that are not numbers."""
    page.resize(390, 844)
    page.show("/experiments/75", f"{CAPTION}.includes('3 curves')")
    page.expect(CAPTION, "Curves: 3 curves; the highest now is 8, of 75/1; 1 without a number")
    page.expect("document.documentElement.scrollWidth", 390)
    page.resize(1200, 900)
    page.show("/experiments/76", f"{CAPTION}.includes('1 curve')")
    page.expect(CAPTION, "Curves: 1 curve; no value is a number")


def program(page):
    """A program gets no empty chart or column; its own metric comes first, with the trial of the highest value."""
    page.show("/experiments/71", f"{CAPTION}.includes('12 curves')")
    page.expect(CAPTION, "Curves: 12 curves; the highest now is 0.32, of 71/12")
    page.expect("document.querySelector('section[aria-label=Curves] select').value", "accuracy")
    drawn = Drawn(page, CURVES)
    drawn.expect(drawn.dots, [(10, 0.2 + i / 100) for i in range(1, 12)], "a dot for each curve of one point")
    heads = page.run("[...document.querySelectorAll('[role=region][aria-label=Trials] thead th')]"
                     ".map((one) => one.textContent)")
    assert not {"loss", "best val_loss", "tokens/s", "Model size"} & set(heads) and "accuracy" in heads, heads
    page.expect("document.querySelector('[role=region][aria-label=Trials] tbody tr').className", "best")
    page.expect("document.querySelector('[role=region][aria-label=Trials] tbody tr').textContent.includes('71/12best')")
    page.expect("document.querySelector('dl.facts time').textContent.endsWith(' UTC')")
    page.shot("program")
    page.show("/experiments/71/trials/12", "document.querySelector('section[aria-label=Curves] figcaption')")
    page.until("[...document.querySelectorAll('figure')].some((one) => one.checkVisibility())")
    page.expect("[...document.querySelectorAll('section[aria-label=Curves] figure')]"
                ".filter((one) => one.checkVisibility())"
                ".map((one) => one.querySelector('figcaption').textContent).join()",
                "accuracy: 1 curve; now 0.32")
    page.expect("[...document.querySelectorAll('dt')].some((one) => one.textContent === 'loss')", False)
    page.shot("program-trial")
    page.show("/compare?of=71/1,71/12", f"{CAPTION}.includes('2 curves')")
    rows = page.run("[...document.querySelectorAll('[role=region][aria-label=Results] tbody th')]"
                    ".map((one) => one.textContent)")
    assert not {"loss", "best val_loss", "tokens/s", "model parameters", "data"} & set(rows), rows


def far(page):
    """A value far from all others does not flatten a chart. A note mentions it, and a setting shows it, even after
    a reload."""
    outside = "document.querySelector('section[aria-label=Curves] .outside')"
    page.show("/experiments/72", f"{CAPTION}.includes('20 curves')")
    page.expect(CAPTION, "Curves: 20 curves; the lowest now is 2.01, of 72/1")
    top = (f"Math.max(...{CURVES}.drawn.texts.filter(([align]) => align === 'right')"
           ".map(([, text]) => Number(text) || 0))")
    page.expect(f"{top} < 5")
    page.expect(f"{outside}.textContent.startsWith('Outliers of 1 curve are hidden: up to 1,000,000.')")
    page.shot("far")
    page.run(f"{outside}.querySelector('button').click()")
    page.until(f"Math.max(...{CURVES}.drawn.texts.map(([, text]) => Number(text.replaceAll(',', '')) || 0)) >= 1e6")
    page.expect("location.hash.includes('far=1')")
    page.run("window.before = true; location.reload()")
    page.until(f"!window.before && {outside}?.textContent.includes('Outliers are shown')", "all values, again")
    page.run(f"{outside}.querySelector('button').click()")
    page.until(f"{top} < 5")
    page.until("document.querySelector('section[aria-label=\"Scatter plot\"] figcaption').textContent"
               ".includes('1 outlier at the edge, at 1,000,000,000')")


def many(page):
    """Names the first of many curves, and all on request; ranks have the colours of the report."""
    chosen = ",".join(str(i) for i in range(1, 41))
    page.show(f"/experiments/72?trials={chosen}", f"{CAPTION}.includes('40 curves')")
    names = "document.querySelectorAll('section[aria-label=Curves] .legend li > bdi:first-of-type').length"
    page.expect(names, 12)
    button = "document.querySelector('section[aria-label=Curves] .legend button')"
    page.expect(f"{button}.textContent", "all 40 names")
    page.run(f"{button}.click()")
    page.expect(names, 40)
    page.expect("document.querySelector('.legend li > bdi.note').textContent", "lr=0.001")
    colours = Drawn(page, CURVES).colours
    counted = sorted(colours.count(one) for one in set(colours))
    assert counted == [1, 9, 30], counted
    probe = ("(() => { const style = getComputedStyle(document.documentElement);"
             " return ['--k1', '--k0', '--rest'].map((name) => style.getPropertyValue(name).trim()); })()")
    best, good, rest = page.run(probe)
    assert [colours.count(one) for one in (best, good, rest)] == [1, 9, 30], (colours, best, good, rest)
    assert colours[-1] == best, "the best is above all"


def across(page):
    """Curves can be drawn over tokens, epochs and time in training too."""
    for over, wanted in (("tokens", 3000), ("epoch", 2), ("time", 60)):
        page.show(f"/experiments/72?trials=1&over={over}", f"{CAPTION}.includes('1 curve')")
        last = page.run(f"{CURVES}.drawn.texts.filter(([align]) => align === 'center').at(-1)[1]")
        assert number_of(last) == wanted, (over, last)
    page.show("/experiments/71?trials=12&over=time", f"{CURVES}.drawn?.texts.length > 0")
    page.expect(f"{CURVES}.drawn.texts.some(([, text]) => "
                "text === 'training time in seconds: unknown for these trials')")


def dialogs(page):
    """A dialog about one view does not stay open over another."""
    page.run("import('/page/dialog.js').then((one) => one.openDialog({title: 'Sure?', button: 'Yes', run() {}}))")
    page.until("document.querySelector('dialog')?.open")
    page.run("location.hash = '#/fleet'")
    page.until("document.querySelector('h1')?.textContent.includes('Fleet') && !document.querySelector('dialog')")


def pictures(page):
    page.call("Page.addScriptToEvaluateOnNewDocument", source=NOTED)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=ANSWERS % json.dumps(json.dumps(made())))
    for case in (program, names, numbers, far, many, across, dialogs):
        case(page)
    page.expect_no_errors()
