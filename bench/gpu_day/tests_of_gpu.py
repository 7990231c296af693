"""Runs tests/gpu case by case: a case that crashes the program does not stop the others, and finished cases are not run
again."""

import os
import pathlib
import re
import select
import subprocess
import time

import kit as kits
import records
import stages

ENDED = re.compile(r"\[\s+(OK|FAILED|SKIPPED)\s+\] (\S+?)(?:,.*)? \((\d+) ms\)")
BEGUN = re.compile(r"\[ RUN      \] (\S+)")
SPARE = 8  # seconds kept for the end
CASE_SECONDS = 120  # a case that takes longer has hung
AGAIN = 75


def cases(listing: str) -> list[str]:
    """Returns full names from the output of --gtest_list_tests."""
    found, suite = [], ""
    for line in listing.splitlines():
        word = line.split("#")[0].rstrip()
        if word and not word.startswith(" "):
            suite = word
        elif word.strip() and suite.endswith("."):
            found.append(suite + word.strip())
    return found


class Watched:
    """Yields the output of one run, line by line."""

    def __init__(self):
        self.running, self.words = "", []
        self.since = time.monotonic()

    def line(self, text: str) -> tuple[str, str, int, str] | None:
        """Returns a finished case: name, outcome, milliseconds, and its output if it failed."""
        if begun := BEGUN.match(text):
            self.running, self.words, self.since = begun[1], [], time.monotonic()
        elif (ended := ENDED.match(text)) and ended[2] == self.running:
            told = (ended[2], ended[1], int(ended[3]), "\n".join(self.words)[-1500:] if ended[1] == "FAILED" else "")
            self.running = ""
            return told
        elif self.running:
            self.words.append(text)
        return None


def say(name: str, how: str, milliseconds: int, words: str) -> None:
    last = words.strip().splitlines()[-1] if words.strip() else ""
    records.say("test", f"{how:8} {name} ({milliseconds} ms){': ' + last if how in ('FAILED', 'ENDED') else ''}",
                name=name, how=how, ms=milliseconds, words=words)


def batch(program: str, names: list[str], until: float) -> bool:
    """Runs these cases until one crashes the program or hangs, or all have ended. Returns False if the time is over."""
    process = subprocess.Popen([program, f"--gtest_filter={':'.join(names)}", "--gtest_color=no"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    watched, text = Watched(), b""
    hung = False
    while (left := until - time.monotonic()) > 0:
        hung = bool(watched.running) and time.monotonic() - watched.since > CASE_SECONDS
        if hung:
            break
        if not select.select([process.stdout], [], [], min(left, 1))[0]:
            continue
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        *lines, text = (text + chunk).split(b"\n")
        for line in lines:
            if told := watched.line(line.decode(errors="replace")):
                say(*told)
        if not chunk:
            process.wait()
            if watched.running:
                say(watched.running, "ENDED", 0, "\n".join(watched.words)[-1500:] +
                    f"\nthe program ended with {process.returncode}")
            return True
    process.kill()
    process.wait()
    if hung:
        say(watched.running, "ENDED", 1000 * CASE_SECONDS, f"it was stopped after {CASE_SECONDS} s")
    return hung


def run(kit: kits.Kit) -> int:
    until = time.monotonic() + stages.seconds() - SPARE * kit.seconds_scale
    listed = subprocess.run([kit.gpu_test, "--gtest_list_tests", f"--gtest_filter={kit.test_filter}"],
                            capture_output=True, text=True, check=True)
    every = cases(listed.stdout)
    state = pathlib.Path(os.environ["DTRAIN_DAY_STATE"]) / "records.jsonl"
    while True:
        told = {record["name"]: record["how"] for record in records.read(state) if record["what"] == "test"}
        left = [name for name in every if name not in told]
        if not left:
            break
        if not batch(kit.gpu_test, left, until):
            return AGAIN
    hows = [told[name] for name in every]
    records.say("tests", f"{hows.count('OK')} of {len(every)} passed, {hows.count('FAILED')} failed, "
                f"{hows.count('ENDED')} ended the program, {hows.count('SKIPPED')} were skipped",
                passed=hows.count("OK"), failed=hows.count("FAILED"), ended=hows.count("ENDED"),
                skipped=hows.count("SKIPPED"))
    return int("FAILED" in hows or "ENDED" in hows)
