"""A real Prometheus scrapes a live run; every expression of the dashboard returns data, and only numbers.

usage: dashboard_test.py PROGRAMS_DIR     exits 77 with the reason if there is no Prometheus
"""

import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import urllib.error
import urllib.parse
import urllib.request

from live_run import LiveRun, listening_port
from until import TooLate, until

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
# The first, a search with a rung and a target, ends soon and is exported for ten minutes more. The
# second, in two stages, runs for longer than Prometheus needs for its rates; the test ends it.
EXPERIMENT = """
version: 1
name: {name}
parameters: {{optimizer.lr: {rates}}}
resources: {{gpus: 2, device: cpu}}
data: {{train: "live/train_*.bin", val: "live/val_*.bin", tokenizer: byte}}
model: {{preset: gpt2, n_layer: 2, n_head: 2, n_embd: 32, n_ff: 64, n_positions: 32}}
parallel: {{pipeline: {stages}}}
train: {{batch_size: 2, seq_len: 32, max_steps: {steps}}}
eval: {{every: 50, batches: 1, hellaswag: live/hellaswag.jsonl}}
checkpoint: {{every: 200}}
search: {search}
"""
RATE_INTERVAL = "15s"
HELLASWAG = {"ctx": "the ranks", "endings": ["of a gang", "of gradients", "of facts", "of a journal"], "label": 0}
# The trainer does not know the peak of a CPU and reports none: a recording rule stands in for it.
PEAK_FLOPS = """
groups:
  - name: peak
    rules:
      - record: dtrain_trial_peak_flops
        expr: 1e12 * dtrain_trial_world_size
"""


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read()


class Prometheus:
    """Debian's Prometheus with the repository's configuration. It scrapes once a second, a coordinator and one that
    is down, so that there is an alert."""

    def __init__(self, run: LiveRun, target: str):
        text = (ROOT / "deploy/prometheus/prometheus.yml").read_text()
        text = text.replace('"127.0.0.1:7601"', f'"{target}", "127.0.0.1:1"')
        text = re.sub("(scrape|evaluation)_interval: [0-9]+s", r"\1_interval: 1s", text)
        text = text.replace("  - rules.yml", "  - rules.yml\n  - peak.yml")
        (run.path / "peak.yml").write_text(PEAK_FLOPS)
        (run.path / "prometheus.yml").write_text(text)
        shutil.copy(ROOT / "deploy/prometheus/rules.yml", run.path / "rules.yml")
        process = run.start("prometheus", "prometheus", f"--config.file={run.path / 'prometheus.yml'}",
                            f"--storage.tsdb.path={run.path / 'tsdb'}", "--web.listen-address=127.0.0.1:0")
        port = until("Prometheus listens", lambda: run.check_alive() or listening_port(process), 30)
        self.address = f"http://127.0.0.1:{port}"

    def query(self, expression: str) -> list[float]:
        """Returns the values of an instant query; none while Prometheus is starting."""
        url = f"{self.address}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            answer = json.loads(get(url))
        except urllib.error.HTTPError as error:
            if error.code == 400:
                raise AssertionError(f"{expression}: {error.read().decode()}") from error
            return []
        except OSError:
            return []
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]


class BoardTest(unittest.TestCase):
    """Tests the board as it is written for Grafana."""

    def setUp(self) -> None:
        board = json.loads((ROOT / "deploy/grafana/dashboards/dtrain.json").read_text())
        self.panels = {panel["title"]: panel for panel in board["panels"] if panel["type"] != "row"}

    def test_no_axis_from_zero_flattens_loss_and_perplexity(self) -> None:
        for title in ("Loss", "Validation perplexity", "Best value over time"):
            self.assertNotIn("min", self.panels[title]["fieldConfig"]["defaults"], title)

    def test_a_trials_line_is_called_by_its_experiments_name_and_its_parameters(self) -> None:
        of_trials = [(panel["title"], target["legendFormat"]) for panel in self.panels.values()
                     for target in panel["targets"] if "{{trial}}" in target["legendFormat"]]
        self.assertGreater(len(of_trials), 10)
        for title, legend in of_trials:
            if title != "Best value":  # a number with its trial
                self.assertIn("{{experiment}}/{{trial}} {{name}} {{parameters}}", legend, title)

    def test_each_figure_that_operators_need_has_a_panel(self) -> None:
        for title in ("Alerts", "Time left", "Best value", "Peak memory", "Checkpoint age", "Restarts", "Queue wait"):
            self.assertIn(title, self.panels)


class DashboardTest(unittest.TestCase):
    programs: pathlib.Path

    def test_a_live_scrape_is_clean_and_fills_every_panel(self) -> None:
        with LiveRun(self.programs) as run:
            run.start_coordinator()
            run.start_workers(2)
            run.make_corpus()
            (run.path / "data/live/hellaswag.jsonl").write_text(json.dumps(HELLASWAG) + "\n")
            prometheus = Prometheus(run, run.addresses["http"])
            self.submit(run, "short", rates="{min: 1.0e-4, max: 1.0e-3, scale: log}", steps=100, stages=1,
                        search="{method: asha, max_trials: 2, target: 0.01, asha: {rungs: 1}}")
            run.dtctl("wait", "last", seconds=180)
            self.submit(run, "live", rates="[3.0e-4, 1.0e-3]", steps=1000000, stages=2,
                        search="{method: grid}")
            self.check_dashboard(run, prometheus)
            self.check_page(get(f"http://{run.addresses['http']}/metrics"))
            run.dtctl("cancel", "last")

    def submit(self, run: LiveRun, name: str, rates: str, steps: int, stages: int, search: str) -> None:
        text = EXPERIMENT.format(name=name, rates=rates, steps=steps, stages=stages, search=search)
        (run.path / f"{name}.yaml").write_text(text)
        run.dtctl("submit", str(run.path / f"{name}.yaml"))

    def check_page(self, page: bytes) -> None:
        checked = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, timeout=30,
                                 check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, b""))

    def check_dashboard(self, run: LiveRun, prometheus: Prometheus) -> None:
        script = ROOT / "deploy/grafana/make_dashboard.py"
        listed = subprocess.run([sys.executable, str(script), "--queries", RATE_INTERVAL], capture_output=True,
                                text=True, timeout=30, check=True).stdout.splitlines()
        self.assertGreater(len(listed), 10)
        # The best trial may or may not change, depending on the results.
        waiting = {expression for expression in listed if "changes(dtrain_experiment_best_trial" not in expression}
        killed = False

        def answer(expression: str) -> bool:
            values = prometheus.query(expression)
            self.assertFalse([value for value in values if math.isnan(value)], expression)
            return bool(values)

        def all_answer() -> bool:
            nonlocal killed
            run.check_alive()
            run.dtctl("get", "trials", "last")  # a user's calls: the latency of calls needs calls
            waiting.difference_update([expression for expression in waiting if answer(expression)])
            if not killed and prometheus.query('dtrain_trial_step{experiment="2"} > 0'):
                run.kill_a_trainer()  # a restart, for its panel
                killed = True
            return not waiting

        try:
            until("every expression returns data", all_answer, 240)
        except TooLate as late:
            self.fail(f"{late}; still without data:\n" + "\n".join(waiting))
        # An ended trial makes no steps; no expression may divide by that zero.
        until("the ended trial's steps left the rates", lambda: prometheus.query(
            f'rate(dtrain_trial_steps_total{{experiment="1"}}[{RATE_INTERVAL}]) == 0'), 60)
        for expression in listed:
            answer(expression)
        # The scrape is within sample_limit and the limits on labels, or each would fail. One may be late.
        up = f'up{{instance="{run.addresses["http"]}"}}'
        until("a scrape succeeds", lambda: prometheus.query(up) == [1.0], 60)


if __name__ == "__main__":
    if not (shutil.which("prometheus") and shutil.which("promtool")):
        print("skipped: no prometheus and promtool on the PATH (Debian's package prometheus has both)")
        sys.exit(SKIPPED)
    DashboardTest.programs = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
