"""Writes the Grafana dashboard from the table below, and checks it.

usage: make_dashboard.py             writes dashboards/dtrain.json beside this file
       make_dashboard.py --check     fails if that file differs from what would be written
       make_dashboard.py --queries [INTERVAL]
                                     prints every expression with its variables filled in, one a line

The dashboard is Classic JSON, which Grafana 9 and later read. It keeps the rules of Grafana's
dashboard-linter: one data source variable, job and instance matchers in every target, $__rate_interval in
every rate, a title, a description and a unit for every panel.
"""

import json
import pathlib
import sys

OUT = pathlib.Path(__file__).resolve().parent / "dashboards" / "dtrain.json"
FLEET = 'job=~"$job", instance=~"$instance"'
EXPERIMENT = FLEET + ', experiment=~"$experiment"'
TRIAL = EXPERIMENT + ', trial=~"$trial"'
TRIAL_LEGEND = "{{experiment}}/{{trial}} {{name}} {{parameters}}"
COLLECTIVE_LEGEND = "{{op}} {{axis}} of " + TRIAL_LEGEND


def rate(metric: str, labels: str) -> str:
    return f"rate({metric}{{{labels}}}[$__rate_interval])"


# An ended trial is exported for ten more minutes and makes no steps: dividing by its rate of 0 gives NaN.
STEPS = f"({rate('dtrain_trial_steps_total', TRIAL)} > 0)"


def named(expression: str) -> str:
    """Returns a query with a series for each trial, with the experiment's name and the trial's parameters for
    TRIAL_LEGEND."""
    return f"({expression}) * on (job, instance, experiment, trial) group_left (name, parameters) dtrain_trial_info"


def quantile(q: float, metric: str, labels: str, by: str = "") -> str:
    grouping = f"le, {by}" if by else "le"
    # Without observations the quantile is NaN, which is not at least 0.
    return f"histogram_quantile({q}, sum by ({grouping}) ({rate(metric + '_bucket', labels)})) >= 0"


# The trial with the best value: the metric's value is the trial's number, which count_values turns into a label.
BEST_TRIAL = f'count_values by (job, instance, experiment) ("trial", dtrain_experiment_best_trial{{{EXPERIMENT}}})'

# (name, expression that is above 0 at the marked moments, text of a mark, colour, whether every board begins with
# them)
MARKS = [
    ("Attempts", f"increase(dtrain_trial_restarts_total{{{EXPERIMENT}}}[$__rate_interval])",
     "another attempt in {{experiment}}: {{reason}}", "orange", True),
    ("Best trial", f"changes(dtrain_experiment_best_trial{{{EXPERIMENT}}}[$__rate_interval])",
     "another best of {{experiment}}", "green", True),
    ("Checkpoints", f"changes(dtrain_trial_last_checkpoint_timestamp_seconds{{{TRIAL}}}[$__rate_interval])",
     "checkpoint of {{experiment}}/{{trial}}", "blue", False),
]

# (title, description, unit, width of 24, options, [(expression, legend)])
ROWS = [
    ("State", [
        ("Alerts", "What deploy/prometheus/rules.yml finds wrong now, or soon (pending).", "short", 8,
         {"type": "table"},
         [(f'max by (alertname, alertstate, severity, experiment, trial) (ALERTS{{{FLEET}, alertname=~"Dtrain.*"}})',
           "")]),
        ("Trials by state", "How many trials of the chosen experiments are in each state.", "short", 8,
         {"stack": True}, [(f"sum by (state) (dtrain_trials{{{EXPERIMENT}}})", "{{state}}")]),
        ("Slots by state", "Slots of the fleet: a slot is a GPU, or a share of a CPU host.", "short", 8,
         {"stack": True}, [(f"sum by (device, state) (dtrain_slots{{{FLEET}}})", "{{device}} {{state}}")]),
        ("Progress", "Share of the experiment's steps that are done.", "percentunit", 8,
         {"type": "bargauge"},
         [(f"max by (experiment) (dtrain_experiment_progress_ratio{{{EXPERIMENT}}})", "{{experiment}}")]),
        ("Time left", "Until an experiment should end, at the pace of the trials that run.", "s", 8,
         {"type": "stat"},
         [(f"clamp_min(dtrain_experiment_eta_timestamp_seconds{{{EXPERIMENT}}} - time(), 0)", "{{experiment}}")]),
        ("Best value", "Best value of the experiment's search metric, and the trial that reached it.", "none", 8,
         {"type": "stat"},
         [(f"dtrain_experiment_best_value{{{EXPERIMENT}}} * on (job, instance, experiment) group_left (trial) "
           f"{BEST_TRIAL}", "{{experiment}}/{{trial}}")]),
    ]),
    ("Searches", [
        ("Best value over time", "Best value so far of the experiment's metric; where rungs end trials, of one that "
         "they did not.", "none", 8, {"from_zero": False},
         [(f"dtrain_experiment_best_value{{{EXPERIMENT}}}", "{{experiment}}")]),
        ("Trials waiting, by reason", "What the trials that have not started wait for: slots, another trial's end "
         "(max_concurrent), a backoff, a checkpoint's storage, or a person (paused).", "short", 8, {"stack": True},
         [(f"sum by (reason) (dtrain_trials_waiting{{{EXPERIMENT}}})", "{{reason}}")]),
        ("Trials at rungs", "How many trials came to each rung, and what it decided.", "short", 8, {},
         [(f"sum by (experiment, rung, decision) (dtrain_rung_trials{{{EXPERIMENT}}})",
           "{{experiment}} rung {{rung}} {{decision}}")]),
        ("Trials stopped early", "Trials that a rung or another rule ended, as a share of those there are to be.",
         "percentunit", 8, {},
         [(f"dtrain_trials_stopped_early{{{EXPERIMENT}}} / (dtrain_experiment_planned_trials{{{EXPERIMENT}}} > 0)",
           "{{experiment}}")]),
        ("Searches with a target", "1 once a trial has reached search.target.", "none", 8, {"type": "stat"},
         [(f"dtrain_experiment_target_reached{{{EXPERIMENT}}}", "{{experiment}}")]),
        ("Paused experiments", "How many experiments start nothing until a person resumes them.", "short", 8,
         {"type": "stat"}, [(f"sum by (job, instance) (dtrain_experiment_paused{{{EXPERIMENT}}})", "paused")]),
    ]),
    ("Learning", [
        ("Loss", "Newest training and validation loss of each trial.", "none", 12, {"from_zero": False},
         [(named(f"dtrain_trial_loss{{{TRIAL}}}"), "{{split}} " + TRIAL_LEGEND)]),
        ("Learning rate", "As the schedule gave it for the newest step.", "sci", 6, {},
         [(named(f"dtrain_trial_learning_rate{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Gradient norm", "Global norm before clipping.", "none", 6, {},
         [(named(f"dtrain_trial_grad_norm{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Validation perplexity", "exp of the newest validation loss.", "none", 6, {"from_zero": False},
         [(named(f'exp(dtrain_trial_loss{{{TRIAL}, split="val"}})'), TRIAL_LEGEND)]),
        ("HellaSwag accuracy", "Share of the examples whose right ending has the least loss, by its sum and "
         "(norm) by its mean over tokens; chance is a quarter. Only with eval.hellaswag.", "percentunit", 6,
         {"from_zero": False},
         [(named(f"dtrain_trial_eval_accuracy_ratio{{{TRIAL}}}"), "{{task}} " + TRIAL_LEGEND)]),
        ("Gradient noise scale", "About the batch, in tokens, beyond which more of it saves few steps. "
         "Not measured where one rank accumulates nothing.", "short", 6, {},
         [(named(f"dtrain_trial_noise_scale_tokens{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Skipped steps", "Steps left out because their gradient was not finite. A few are usual with fp16.",
         "short", 6, {},
         [(named(f"increase(dtrain_trial_nonfinite_steps_total{{{TRIAL}}}[$__rate_interval])"), TRIAL_LEGEND)]),
    ]),
    ("Speed", [
        ("Tokens per second", "Over all ranks of a trial; repeated work counts.", "short", 8, {},
         [(named(rate("dtrain_trial_tokens_total", TRIAL)), TRIAL_LEGEND)]),
        ("Model FLOPs utilisation", "Share of what the devices can do at most that the model's own arithmetic "
         "uses. Only for GPUs whose peak is known.", "percentunit", 8, {},
         [(named(f"{rate('dtrain_trial_flops_total', TRIAL)} / dtrain_trial_peak_flops{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Step phases", "Seconds of a step by phase, averaged over the chosen trials that make steps.", "s", 8,
         {"stack": True},
         [(f"avg by (phase) ({rate('dtrain_trial_phase_seconds_total', TRIAL)} / ignoring (phase) "
           f"group_left () {STEPS})", "{{phase}}")]),
        ("Peak memory", "Of the device, GPU or CPU slot, of the rank that uses most.", "bytes", 8, {},
         [(named(f"dtrain_trial_gpu_memory_peak_bytes{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Checkpoint age", "Time since the newest checkpoint: what a failure would cost now.", "s", 8, {},
         [(named(f"time() - dtrain_trial_last_checkpoint_timestamp_seconds{{{TRIAL}}}"), TRIAL_LEGEND)]),
        ("Restarts", "Attempts that ended and were followed by another, by the cause of their end.", "short", 8, {},
         [(f"sum by (experiment, reason) (increase(dtrain_trial_restarts_total{{{EXPERIMENT}}}[$__rate_interval])) "
           "> 0", "{{experiment}} {{reason}}")]),
    ]),
    ("Communication", [
        ("Collective time per step", "Of the slowest rank, by operation and axis of ranks, hidden or not.",
         "s", 8, {},
         [(named(f"{rate('dtrain_trial_collective_seconds_total', TRIAL)} / ignoring (op, axis) group_left () "
                 f"{STEPS}"), COLLECTIVE_LEGEND)]),
        ("Bus bandwidth", "Bytes over the wires in busy time: comparable among operations and numbers of ranks.",
         "Bps", 8, {},
         [(named(f"{rate('dtrain_trial_collective_bus_bytes_total', TRIAL)} / "
                 f"({rate('dtrain_trial_collective_seconds_total', TRIAL)} > 0)"), COLLECTIVE_LEGEND)]),
        ("Waiting for collectives, per step", "Time in which no computation hid them, by operation and axis.",
         "s", 8, {},
         [(named(f"{rate('dtrain_trial_collective_exposed_seconds_total', TRIAL)} / ignoring (op, axis) "
                 f"group_left () {STEPS}"), COLLECTIVE_LEGEND)]),
        ("Exposed communication", "Share of a step spent waiting for collectives that no computation hid.",
         "percentunit", 8, {},
         [(named(f"sum without (phase) (rate(dtrain_trial_phase_seconds_total{{{TRIAL}, "
                 'phase="comm_exposed"}[$__rate_interval])) / (sum without (phase) '
                 f"({rate('dtrain_trial_phase_seconds_total', TRIAL)}) > 0)"), TRIAL_LEGEND)]),
        ("Pipeline bubble", "Share of a step in which stages of a pipeline waited for one another, and what filling "
         "and draining takes where all stages cost alike.", "percentunit", 8, {},
         [(named(f"sum without (op, axis) (rate(dtrain_trial_collective_exposed_seconds_total{{{TRIAL}, "
                 'op="recv", axis="pipeline"}[$__rate_interval])) / (sum without (phase) '
                 f"({rate('dtrain_trial_phase_seconds_total', TRIAL)}) > 0)"), TRIAL_LEGEND + " waited"),
          (named(f"dtrain_trial_pipeline_bubble_ratio{{{TRIAL}}}"), TRIAL_LEGEND + " by the formula")]),
    ]),
    ("Coordinator", [
        ("Queue wait", "From when a trial could start to the choice of its slots: half of the trials and nine in "
         "ten waited no longer.", "s", 8, {},
         [(quantile(0.5, "dtrain_queue_wait_seconds", FLEET), "half"),
          (quantile(0.9, "dtrain_queue_wait_seconds", FLEET), "nine in ten")]),
        ("Workers by state", "As the coordinator sees them.", "short", 8, {"stack": True},
         [(f"sum by (state) (dtrain_workers{{{FLEET}}})", "{{state}}")]),
        ("RPC rate", "Calls answered a second, by method.", "reqps", 8, {},
         [(f"sum by (method) ({rate('dtrain_grpc_server_handled_total', FLEET)})", "{{method}}")]),
        ("RPC latency, p99", "Of the calls that dtctl makes.", "s", 8, {},
         [(quantile(0.99, "dtrain_grpc_server_handling_seconds", FLEET, "method"), "{{method}}")]),
        ("Journal commit, p99", "Time until a batch of records and rows is on disk.", "s", 8, {},
         [(quantile(0.99, "dtrain_journal_fsync_seconds", FLEET), "p99")]),
        ("Notices", "To receivers of notify, a second, by what came of them; and how many wait.", "short", 8, {},
         [(f"sum by (outcome) ({rate('dtrain_notices_total', FLEET)})", "{{outcome}}"),
          (f"dtrain_notices_waiting{{{FLEET}}}", "waiting")]),
    ]),
]


SINGLE_VALUE = {"reduceOptions": {"calcs": ["lastNotNull"]}}
LOOKS = {
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                   "tooltip": {"mode": "multi", "sort": "desc"}},
    "bargauge": {**SINGLE_VALUE, "orientation": "horizontal"},
    "stat": {**SINGLE_VALUE, "colorMode": "none", "textMode": "value_and_name"},
    "table": {"showHeader": True},
}


def defaults(kind: str, unit: str, options: dict) -> dict:
    """Returns a panel's fields. An axis begins at 0 unless that would flatten the curves."""
    if kind == "bargauge":
        return {"unit": unit, "min": 0, "max": 1}
    if kind != "timeseries":
        return {"unit": unit}
    custom = {"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto"}
    if options.get("stack"):
        custom |= {"fillOpacity": 40, "stacking": {"mode": "normal", "group": "A"}}
    return {"unit": unit, "custom": custom} | ({"min": 0} if options.get("from_zero", True) else {})


def panel(ident: int, x: int, y: int, spec: tuple) -> dict:
    title, description, unit, width, options, targets = spec
    kind = options.get("type", "timeseries")
    shown = {
        "id": ident,
        "type": kind,
        "title": title,
        "description": description,
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "gridPos": {"x": x, "y": y, "w": width, "h": 8},
        "fieldConfig": {"defaults": defaults(kind, unit, options), "overrides": []},
        "options": LOOKS[kind],
        "targets": [
            {"refId": chr(ord("A") + i), "expr": expr, "legendFormat": legend,
             "datasource": {"type": "prometheus", "uid": "$datasource"}}
            for i, (expr, legend) in enumerate(targets)
        ],
    }
    if kind == "table":
        for target in shown["targets"]:
            target |= {"instant": True, "format": "table"}
        shown["transformations"] = [{"id": "organize", "options": {"excludeByName": {"Time": True, "Value": True}}}]
    return shown


def query_variable(name: str, label: str, query: str) -> dict:
    return {
        "name": name, "label": label, "type": "query",
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "query": {"query": query, "refId": name}, "definition": query,
        "refresh": 2, "sort": 3, "multi": True, "includeAll": True, "allValue": ".+",
        "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
    }


def annotation(name: str, rise: str, text: str, colour: str, enable: bool) -> dict:
    """Returns an annotation with a mark where `rise` is above 0."""
    return {
        "name": name, "enable": enable, "iconColor": colour,
        "datasource": {"type": "prometheus", "uid": "$datasource"},
        "expr": f"{rise} > 0", "step": "", "titleFormat": name, "textFormat": text,
        "useValueForTime": False,
    }


def dashboard() -> dict:
    panels, ident, y = [], 0, 0
    for name, specs in ROWS:
        ident += 1
        panels.append({"id": ident, "type": "row", "title": name, "collapsed": False, "panels": [],
                       "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}})
        x, y = 0, y + 1
        for spec in specs:
            if x + spec[3] > 24:
                x, y = 0, y + 8
            ident += 1
            panels.append(panel(ident, x, y, spec))
            x += spec[3]
        y += 8
    job = 'label_values(dtrain_ready, job)'
    instance = 'label_values(dtrain_ready{job=~"$job"}, instance)'
    experiment = f"label_values(dtrain_trials{{{FLEET}}}, experiment)"
    trial = f"label_values(dtrain_trial_step{{{EXPERIMENT}}}, trial)"
    return {
        "uid": "dtrain",
        "title": "dtrain",
        "description": "Trials of a dtrain coordinator: learning, speed, communication, and the fleet.",
        "tags": ["dtrain"],
        "schemaVersion": 39,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": [annotation(*mark) for mark in MARKS]},
        "templating": {"list": [
            {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
            query_variable("job", "Job", job),
            query_variable("instance", "Instance", instance),
            query_variable("experiment", "Experiment", experiment),
            query_variable("trial", "Trial", trial),
        ]},
        "panels": panels,
    }


def queries(board: dict, interval: str) -> list[str]:
    """Yields every expression as Prometheus takes it, rates over `interval`, each variable set to match everything."""
    filled = []
    shown = [target for one in board["panels"] for target in one.get("targets", [])]
    for target in shown + board["annotations"]["list"]:
        expr = target["expr"].replace("$__rate_interval", interval)
        for variable in ("job", "instance", "experiment", "trial"):
            expr = expr.replace(f'"${variable}"', '".+"')
        filled.append(expr)
    return filled


def problems(board: dict) -> list[str]:
    """Returns findings like the dashboard-linter's, as far as its rules can be checked in the JSON."""
    found = []
    for one in board["panels"]:
        if one["type"] == "row":
            continue
        name = one["title"]
        if not (name and one["description"] and one["fieldConfig"]["defaults"].get("unit")):
            found.append(f"panel '{name}': a title, a description and a unit are needed")
        for target in one["targets"]:
            expr = target["expr"]
            if 'job=~"$job"' not in expr or 'instance=~"$instance"' not in expr:
                found.append(f"panel '{name}': job and instance are not matched")
            for word in expr.replace("{", " ").replace("(", " ").split():
                # A counter is only used within a rate or an increase.
                if word.endswith("_total") and not any(f"{f}({word}{{" in expr for f in ("rate", "increase")):
                    found.append(f"panel '{name}': counter {word} outside a rate")
    return found


def main() -> int:
    board = dashboard()
    if "--queries" in sys.argv[1:]:
        print("\n".join(queries(board, sys.argv[2] if len(sys.argv) > 2 else "1m")))
        return 0
    text = json.dumps(board, indent=2) + "\n"
    for problem in (found := problems(board)):
        print(f"{OUT}: error: {problem}")
    if "--check" in sys.argv[1:]:
        if not OUT.exists() or OUT.read_text() != text:
            print(f"{OUT}: error: not what make_dashboard.py writes; run it and commit the result")
            return 1
        return 1 if found else 0
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(text)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
