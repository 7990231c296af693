#!/usr/bin/env python3
"""Records a journal of this build, with records of every kind, for the tests of later builds:

    record.py BUILD_FOLDER OUTPUT.db

It drives a real dtcoord and dtworkers with the fake trainer, whose behaviour data.train describes, and stops the
coordinator while one trial trains and others wait.
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 120  # seconds


class Study:
    def __init__(self, build, folder):
        self.build, self.folder = pathlib.Path(build).resolve(), pathlib.Path(folder)
        self.address = f"unix:{self.folder}/coordinator"
        self.workers = {}
        self.start_coordinator()

    def start_coordinator(self):
        ready = self.folder / "addresses.json"
        ready.unlink(missing_ok=True)
        self.coordinator = subprocess.Popen(
            [self.build / "bin/dtcoord", "--listen", self.address, "--http", "127.0.0.1:0",
             "--state-dir", self.folder / "state", "--addresses-file", ready],
            stderr=subprocess.DEVNULL)
        self.until(ready.exists, "the coordinator answers")

    def start_worker(self, name):
        self.workers[name] = subprocess.Popen(
            [self.build / "bin/dtworker", "--coordinator", self.address, "--name", name, "--slot", "cpu",
             "--threads", "1", "--trainer", self.build / "tests/fake_trainer", "--storage",
             self.folder / "storage", "--run-dir", self.folder / "run", "--data-root", self.folder],
            stderr=subprocess.DEVNULL)

    def dtctl(self, *args):
        done = subprocess.run([self.build / "bin/dtctl", *args, "--address", self.address, "--no-input"],
                              capture_output=True, text=True, cwd=self.folder)
        if done.returncode != 0:
            raise RuntimeError(f"dtctl {' '.join(args)}: {done.stderr}{done.stdout}")
        return done.stdout

    def submit(self, name, conduct, steps, **extra):
        spec = {"version": 1, "name": name, "data": {"train": conduct, "val": "v", "tokenizer": "byte"},
                "model": {"preset": "gpt2"}, "train": {"max_steps": steps}, "seed": 1,
                "retries": {"max": 2, "backoff": "0.1s"}, "resources": {"gpus": 1, "device": "cpu"}}
        for path in extra.get("parameters", {}):  # swept parameters are not set
            section, _, field = path.partition(".")
            (spec.get(section) or {}).pop(field, None) if field else spec.pop(section, None)
        spec.update(extra)
        (self.folder / f"{name}.yaml").write_text(json.dumps(spec))  # JSON is YAML
        return int(self.dtctl("submit", f"{name}.yaml", "--id-only"))

    def submit_program(self, name, script, **extra):
        spec = {"version": 1, "name": name, "run": script, "seed": 1, "retries": {"max": 1, "backoff": "0.1s"},
                "resources": {"gpus": 1, "device": "cpu"}, **extra}
        (self.folder / f"{name}.yaml").write_text(json.dumps(spec))
        return int(self.dtctl("submit", f"{name}.yaml", "--id-only"))

    def trials(self, experiment):
        return json.loads(self.dtctl("get", "trials", str(experiment), "-o", "json"))["items"]

    def until(self, holds, what):
        limit = time.monotonic() + PATIENCE
        while not holds():
            if time.monotonic() > limit:
                raise TimeoutError(what)
            time.sleep(0.05)

    def ended(self, experiment):
        self.until(lambda: all(t["state"] in ("finished", "failed", "cancelled")
                               for t in self.trials(experiment)), f"experiment {experiment} ends")

    def trains(self, experiment, step=3):
        self.until(lambda: any(t["state"] == "running" and int(t["step"]) >= step
                               for t in self.trials(experiment)), f"experiment {experiment} trains")

    def stop(self):
        for process in [self.coordinator, *self.workers.values()]:
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)


def record(study):
    study.start_worker("w0")
    study.start_worker("w1")
    grid = study.submit("grid", "step_ms=1 checkpoint_every=5 keep=2 eval_every=5", 20,
                        parameters={"optimizer.lr": [1.0e-3, 3.0e-4], "train.batch_size": [2, 4]},
                        exclude=[{"optimizer.lr": 3.0e-4, "train.batch_size": 4}], labels={"team": "a b"})
    study.ended(grid)
    gangs = study.submit("gangs", "step_ms=1 checkpoint_every=4", 10,
                         parameters={"resources.gpus": [1, 2], "seed": [3, 4]},
                         search={"metric": "loss", "goal": "minimize", "max_concurrent": 1})
    study.ended(gangs)
    ends = study.submit("ends", "", 12, parameters={"data.train": [
        "step_ms=1 checkpoint_every=4 crash_at=6", "step_ms=1 end_at=3 end_cause=oom",
        "step_ms=1 end_at=3 end_cause=nonfinite", "step_ms=1 crash_at=2 attempts=9",
        "step_ms=1 checkpoint_every=2 eval_every=3 end_at=5 end_cause=stopped_early"]})
    study.ended(ends)
    study.dtctl("retry", str(ends), "--failed")
    study.ended(ends)
    gone = study.submit("gone", "step_ms=1", 3)
    study.ended(gone)
    study.dtctl("delete", str(gone), "--yes")
    cancelled = study.submit("cancelled", "step_ms=100", 100000,
                             parameters={"optimizer.lr": {"min": 1.0e-5, "max": 1.0e-2, "scale": "log",
                                                          "count": 4}})
    study.trains(cancelled)
    study.dtctl("cancel", f"{cancelled}/4", "--reason", "one is enough")
    study.dtctl("cancel", str(cancelled), "--reason", "all of it")
    study.ended(cancelled)
    moved = study.submit("moved", "step_ms=50 checkpoint_every=5 eval_every=10", 60)
    study.trains(moved, 12)
    study.workers["w0"].send_signal(signal.SIGTERM)  # it saves and stops its trial
    study.workers["w0"].wait(PATIENCE)
    study.start_worker("w0")
    study.ended(moved)


def record_searches(study):
    """Records the facts that are new in version 0.2.0: searches, changes, pauses, drains and users' own programs."""
    rates = {"optimizer.lr": {"min": 1.0e-5, "max": 1.0e-1, "scale": "log"}}
    quick = "step_ms=1 checkpoint_every=9 eval_every=9 by_rate=1"
    rungs = study.submit("rungs", quick, 54, parameters=rates,
                         resources={"gpus": 1, "device": "cpu", "priority": 20}, search={
        "method": "asha", "sampler": "bayes", "metric": "val_loss", "goal": "minimize", "max_trials": 9,
        "asha": {"eta": 3, "rungs": 2}})
    study.ended(rungs)
    members = study.submit("members", "step_ms=5 checkpoint_every=25 by_rate=1", 100, parameters=rates, search={
        "method": "pbt", "metric": "val_loss", "goal": "minimize", "max_trials": 4,
        "pbt": {"every": 0.25, "quantile": 0.5}})
    study.ended(members)
    program = study.submit_program(
        "program", 'printf "{{\\"step\\": 1, \\"val_loss\\": %s}}\\n" {x}; test {x} != 3',
        parameters={"x": [1, 2, 3]}, search={"metric": "val_loss", "goal": "minimize"})
    study.ended(program)
    changed = study.submit("changed", "step_ms=20 checkpoint_every=5 eval_every=5", 60,
                           schedule={"type": "constant"})
    study.trains(changed, 12)
    study.dtctl("pause", str(changed))
    study.until(lambda: study.trials(changed)[0]["state"] == "pending", "the paused trial leaves")
    study.dtctl("extend", str(changed), "--max-steps", "70")
    study.dtctl("resume", str(changed))
    study.ended(changed)
    held = study.submit("held", "step_ms=1", 5, resources={"gpus": 1, "priority": 90})
    study.ended(held)
    paused = study.submit("paused", "step_ms=50 checkpoint_every=5 eval_every=5", 100000,
                          parameters={"optimizer.lr": [1.0e-3, 2.0e-3]})
    study.trains(paused, 12)
    study.dtctl("pause", str(paused))
    study.until(lambda: all(t["state"] == "pending" for t in study.trials(paused)), "paused trials leave")
    study.dtctl("worker", "drain", "w9", "--reason", "a new fan")


def record_what_goes_on(study):
    waits = study.submit("waits", "step_ms=100 checkpoint_every=5 eval_every=5", 100000, resources={"gpus": 2},
                         parameters={"optimizer.lr": [1.0e-3, 2.0e-3, 3.0e-3]})
    study.trains(waits, 12)


def main():
    build, output = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        study = Study(build, folder)
        try:
            record(study)
            record_searches(study)
            record_what_goes_on(study)
        finally:
            study.stop()
        state, output = pathlib.Path(folder) / "state", pathlib.Path(output)
        shutil.copy(state / "journal.db", output)
        shutil.copy(state / "journal.mark", output.with_suffix(".mark"))


if __name__ == "__main__":
    main()
