"""Reads deploy/containers/Containerfile, for tests: the instructions of each stage and of the stages it is made
from."""

import json
import pathlib
import re
import shlex

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "deploy/containers"


class Stage:
    def __init__(self, base: str, before: "Stage | None"):
        """`before`: the stage that `base` names, or None for an image."""
        self.base = base
        self.before = before
        self.own: list[tuple[str, str]] = []

    def all(self, instruction: str) -> list[str]:
        """Returns the arguments of each such instruction, those of earlier stages included."""
        earlier = self.before.all(instruction) if self.before else []
        return earlier + [text for name, text in self.own if name == instruction]

    def last(self, instruction: str) -> str:
        return self.all(instruction)[-1]

    def entry_point(self) -> list[str]:
        return json.loads(self.last("ENTRYPOINT"))

    def word_after(self, flag: str) -> str:
        words = self.entry_point()
        return words[words.index(flag) + 1]

    def environment(self) -> list[str]:
        return [word for text in self.all("ENV") for word in shlex.split(text)]

    def health_check(self) -> list[str]:
        return json.loads(self.last("HEALTHCHECK").partition("CMD ")[2])

    def folders(self) -> list[str]:
        """Returns the folders that its account owns, made by `install -d`."""
        made = [command for text in self.all("RUN") for command in text.split("&&") if "install -d " in command]
        return [word for command in made for word in shlex.split(command) if word.startswith("/")]

    def packages(self) -> list[str]:
        return re.findall(r"/packages/dtrain-(\w+)_\*\.deb", " ".join(self.all("RUN")))


def stages() -> dict[str, Stage]:
    text = (FOLDER / "Containerfile").read_text()
    whole = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    found: dict[str, Stage] = {}
    stage = Stage("", None)  # for the lines before the first FROM
    for line in filter(None, whole.splitlines()):
        name, _, rest = line.partition(" ")
        if name == "FROM":
            base, _, target = rest.partition(" AS ")
            stage = found[target] = Stage(base, found.get(base))
        else:
            stage.own.append((name, rest.strip()))
    return found
