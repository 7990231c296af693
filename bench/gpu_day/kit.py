"""The programs and sizes of a day on a GPU; a rehearsal uses others (--kit FILE)."""

import dataclasses
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/gpu"


@dataclasses.dataclass
class Kit:
    dttrain: str = str(BUILD / "bin/dttrain")
    gpu_test: str = str(BUILD / "tests/gpu_test")
    gpu_step: str = str(BUILD / "tests/gpu_step")
    # The folder of the torch that these programs link, as tools/gpu-day.sh leaves it; and a program to replace
    # peer.py.
    torch_file: str = str(BUILD / "torch-folder")
    peer_program: str = ""
    builds: bool = True  # false: the programs exist already
    test_filter: str = "-*/cpu"
    kernel_tests: str = "*OurKernelIsInUse*"
    shape: str = "gpt2:64x1024"  # the shape whose step is examined and that the recipe trains
    shapes: tuple[str, ...] = ("gpt2:64x1024", "gpt2:4x1024", "tiny:8x64", "tiny:128x512")
    graph_shape: str = "tiny:8x64"
    memory_shapes: tuple[str, ...] = ("gpt2:64x1024", "gpt2:4x1024", "tiny:8x64", "tiny:128x512")
    rounds: int = 2
    steps: int = 50  # timed steps of a round
    warm_up: int = 20
    recipe_steps: int = 200
    seconds_scale: float = 1.0  # factor for the time bounds of every stage

    def torch(self) -> str:
        file = pathlib.Path(self.torch_file)
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def load(path: str) -> Kit:
    """Reads a kit; an empty `path` is the real one."""
    if not path:
        return Kit()
    given = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    return Kit(**{name: tuple(value) if isinstance(value, list) else value for name, value in given.items()})
