"""A day on a borrowed GPU machine, call by call; ./dev gpu-day runs it there.

Builds the trainer in the background, meanwhile measures what needs no trainer, and then goes through the stages in
order of value. A call ends before its time is over and prints what comes next; the next call continues there. The
results of each stage are in STATE: state.json, records.jsonl (a result a line), results.json (all results) and
tables.md (to paste). A failed stage is noted and skipped; --redo tries it again.

Exits with 0 when all stages are done, with 75 when another call is needed, with 77 without a GPU.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "training"))

import gpu  # noqa: E402  found only now
import kit as kits  # noqa: E402
import planner  # noqa: E402
import records  # noqa: E402
import stages as all_stages  # noqa: E402
import tables  # noqa: E402

AGAIN, SKIPPED = 75, 77
COPIED = ("results.json", "tables.md", "state.json", "records.jsonl", "kernels.json", "build.log", "day.log")


class Build:
    """The trainer's build, which runs beside stages that need no trainer; a build that a call's end stopped is
    continued."""

    def __init__(self, command: list[str], log: pathlib.Path):
        self.process, self.log = None, log
        if command:
            self.process = subprocess.Popen(command, stdout=open(log, "w", encoding="utf-8"),
                                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            start_new_session=True)

    def status(self) -> str:
        if self.process is None:
            return planner.BUILT
        code = self.process.poll()
        return planner.BUILDING if code is None else planner.BUILT if code == 0 else planner.BROKEN

    def wait(self, seconds: float) -> None:
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            end_group(self.process)

    def last_words(self) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return text[-3000:]


def end_group(process: subprocess.Popen) -> None:
    """Ends a process that leads a session, and everything that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue
    process.wait(10)


class Day:
    def __init__(self, options: argparse.Namespace):
        self.begin = time.monotonic()
        self.whole = 60.0 * options.minutes
        self.state = pathlib.Path(options.state)
        self.state.mkdir(parents=True, exist_ok=True)
        self.out = pathlib.Path(options.out) if options.out else None
        self.kit = kits.load(options.kit)
        self.kit_file = options.kit
        self.stages = all_stages.of(self.kit)
        self.past: dict[str, planner.Past] = {}
        self.used = 0.0
        self._read(options.redo)
        self.build = Build([str(kits.ROOT / "dev"), "gpu-day", "--build-only", *options.build_arguments]
                           if self.kit.builds else [], self.state / "build.log")

    def left(self) -> float:
        return self.whole - (time.monotonic() - self.begin)

    def _read(self, redo: list[str]) -> None:
        file = self.state / "state.json"
        if not file.exists():
            return
        told = json.loads(file.read_text(encoding="utf-8"))
        self.used = told.get("used_seconds", 0.0)
        known = {field.name for field in dataclasses.fields(planner.Past)}
        for name, past in told.get("stages", {}).items():
            if name not in redo:
                self.past[name] = planner.Past(**{key: value for key, value in past.items() if key in known})

    def write(self) -> None:
        """Saves after each stage, so that nothing is lost if the machine is taken away."""
        told = {"used_seconds": round(self.used + time.monotonic() - self.begin, 1), "stages":
                {name: dataclasses.asdict(past) for name, past in self.past.items()}}
        results = records.read(self.state / "records.jsonl")
        self._put("state.json", json.dumps(told, indent=1))
        self._put("results.json", json.dumps({**told, "records": results}, indent=1))
        self._put("tables.md", tables.page(results, [stage.name for stage in self.stages], told["stages"]))
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            for name in COPIED:
                if (self.state / name).exists():
                    shutil.copyfile(self.state / name, self.out / name)

    def _put(self, name: str, text: str) -> None:
        staging = self.state / (name + ".new")
        staging.write_text(text + "\n", encoding="utf-8")
        staging.replace(self.state / name)

    def run(self, stage: planner.Stage, bound: float) -> None:
        print(f"gpu-day: {stage.name}, for {bound:.0f} s at most; {self.left():.0f} s of this call left", flush=True)
        begin = time.monotonic()
        environment = {**os.environ, "DTRAIN_DAY_RECORDS": str(self.state / "records.jsonl"),
                       "DTRAIN_DAY_STAGE": stage.name, "DTRAIN_DAY_SECONDS": str(bound),
                       "DTRAIN_DAY_STATE": str(self.state), "DTRAIN_DAY_KIT": self.kit_file,
                       "DTRAIN_DAY_BUILDING": "1" if self.build.status() == planner.BUILDING else ""}
        log_file = self.state / "day.log"
        with open(log_file, "a", encoding="utf-8") as log:
            log.write(f"==== {stage.name}\n")
            log.flush()
            process = subprocess.Popen(all_stages.command(self.kit, stage.name), env=environment, stderr=log,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                code = process.wait(bound)
            except subprocess.TimeoutExpired:
                code = None
                end_group(process)
        note = "" if code == 0 else self._why(code, bound, log_file)
        seconds = time.monotonic() - begin
        past = planner.noted(self.past.get(stage.name, planner.Past()), stage, code, bound, round(seconds, 1), note)
        self.past[stage.name] = past
        print(f"gpu-day: {stage.name} is {past.status} after {seconds:.0f} s{': ' + note if note else ''}", flush=True)
        self.write()

    @staticmethod
    def _why(code: int | None, bound: float, log: pathlib.Path) -> str:
        if code == planner.UNFINISHED:
            return "it goes on in another call"
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        last = lines[-1][:300] if lines and not lines[-1].startswith("====") else "it said nothing"
        if code is None:
            return f"stopped after {bound:.0f} s; its last line: {last}"
        return f"exit code {code}; its last line: {last}"

    def call(self) -> int:
        try:
            return self._call()
        finally:
            self.build.stop()
            self.write()

    def _call(self) -> int:
        said_build = ""
        while True:
            build = self.build.status()
            if build == planner.BROKEN and not said_build:
                said_build = self.build.last_words()
                print(f"gpu-day: the trainer does not build; the end of {self.build.log}:\n{said_build}", flush=True)
            act = planner.next_act(self.stages, self.past, build, self.left(), self.whole)
            if act.kind == "run":
                self.run(act.stage, act.seconds)
            elif act.kind == "wait":
                print(f"gpu-day: waiting for the trainer's build, {act.seconds:.0f} s at most", flush=True)
                self.build.wait(act.seconds)
                if self.build.status() == planner.BUILDING:
                    print("gpu-day: call again: the build is not complete and will go on from here", flush=True)
                    return AGAIN
            elif act.kind == "again":
                print(f"gpu-day: call again: next comes {act.stage.name}, and {self.left():.0f} s are too few for it "
                      "here", flush=True)
                return AGAIN
            else:
                print((self.state / "tables.md").read_text(encoding="utf-8"), end="", flush=True)
                print(f"gpu-day: all stages are through; {self.state}/tables.md has the tables, results.json the "
                      "numbers", flush=True)
                return 1 if said_build else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev gpu-day", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=9, help="of this call; 9")
    parser.add_argument("--state", default=str(kits.ROOT / "build/gpu-day"), help="folder of what was done so far")
    parser.add_argument("--out", default="", help="folder that gets a copy of the results after each stage")
    parser.add_argument("--redo", action="append", default=[], metavar="STAGE", help="as if it had never run")
    parser.add_argument("--list", action="store_true", help="print the stages in their order, and what came of each")
    parser.add_argument("--kit", default="", help=argparse.SUPPRESS)
    parser.add_argument("--bundle", default="", help="what ./dev setup --bundle made; build/bundle where that is there")
    options = parser.parse_args()
    names = [stage.name for stage in all_stages.of(kits.load(options.kit))]
    if unknown := set(options.redo) - set(names):
        parser.error(f"no stage {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if not 0 < options.minutes <= 24 * 60:
        parser.error("--minutes is more than 0 and at most a day")
    options.build_arguments = ["--bundle", options.bundle] if options.bundle else []
    return options


def listed(options: argparse.Namespace) -> int:
    file = pathlib.Path(options.state) / "state.json"
    told = json.loads(file.read_text(encoding="utf-8"))["stages"] if file.exists() else {}
    for stage in all_stages.of(kits.load(options.kit)):
        past = told.get(stage.name, {})
        print(f"{stage.name:24} {past.get('status') or 'open':8} {past.get('note', '')}")
    return 0


def main() -> int:
    options = parse()
    if options.list:
        return listed(options)
    if why := gpu.absent():
        print(f"gpu-day: {why}", file=sys.stderr)
        return SKIPPED
    day = Day(options)
    print(f"gpu-day: {day.used / 60:.1f} minutes were used before this call, which takes {options.minutes:g} at most",
          flush=True)
    return day.call()


if __name__ == "__main__":
    sys.exit(main())
