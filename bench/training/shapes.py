"""The pure parts of the benchmark of shapes: the shapes, the least time that each can take on an H200, statistics of
step times, and whether two trainers' losses agree."""

import dataclasses
import math
import statistics

import models

# ---- Shapes ----


@dataclasses.dataclass(frozen=True)
class Shape:
    family: str
    batch: int  # sequences of a micro-step
    length: int
    accumulate: int = 1
    steps: int = 0  # at most this many are timed; 0: as many as requested
    quick: bool = False
    graphs: bool = False  # small enough that launches count, so CUDA graphs are tried too

    @property
    def name(self) -> str:
        times = f"x{self.accumulate}" if self.accumulate > 1 else ""
        return f"{self.family}:{self.batch}x{self.length}{times}"

    @property
    def model(self) -> dict:
        return FAMILIES[self.family]

    @property
    def tokens(self) -> int:
        """Returns the tokens of a step."""
        return self.batch * self.length * self.accumulate


FAMILIES = {"gpt2": models.GPT2, "tiny": models.TINY_TRANSFORMER, "small": models.SMALL_GPT, "byte": models.BYTE_GPT}

SHAPES = [
    Shape("gpt2", 4, 1024, quick=True, graphs=True),
    Shape("gpt2", 16, 1024),
    Shape("gpt2", 64, 1024, quick=True),
    Shape("gpt2", 64, 1024, accumulate=8, steps=20),
    Shape("tiny", 8, 64, quick=True, graphs=True),
    Shape("tiny", 32, 64, graphs=True),
    Shape("tiny", 8, 256, graphs=True),
    Shape("tiny", 128, 64, graphs=True),
    Shape("tiny", 32, 256, graphs=True),
    Shape("tiny", 8, 1024, graphs=True),
    Shape("tiny", 128, 256),
    Shape("tiny", 128, 512),
    Shape("tiny", 32, 1024, quick=True),
    Shape("tiny", 128, 1024),
    Shape("tiny", 8, 2048),
    Shape("tiny", 128, 2048),
]
# Not in the catalogue: to try the benchmark itself, also on a CPU.
TRIAL_SHAPES = [Shape("byte", 4, 64, graphs=True), Shape("byte", 2, 32, accumulate=2, graphs=True),
                Shape("small", 2, 64, graphs=True)]


def chosen_shapes(words: str, quick: bool) -> list[Shape]:
    """Returns shapes by `words`: names and families, with commas; empty: the complete catalogue. Raises ValueError for
    an unknown word."""
    if not words:
        return [shape for shape in SHAPES if shape.quick or not quick]
    chosen = []
    for word in words.split(","):
        found = [s for s in SHAPES + TRIAL_SHAPES if s.name == word or (s.family == word and (s.quick or not quick))]
        if not found:
            raise ValueError(f"no shape '{word}'; there are {', '.join(s.name for s in SHAPES + TRIAL_SHAPES)}, and "
                             f"{', '.join(FAMILIES)} for all of a model")
        chosen += [shape for shape in found if shape not in chosen]
    return chosen


# ---- Peers ----

EAGER, PARAMETERS16 = "eager", "bf16-parameters"
# With CUDA graphs: for shapes where launches count.
GRAPHS = "max-autotune"
PEERS = [EAGER, PARAMETERS16, "default", "max-autotune-no-cudagraphs", GRAPHS]
QUICK_PEERS = [EAGER, "default"]


def chosen_peers(words: str, quick: bool, device: str) -> list[str]:
    if not words:
        return QUICK_PEERS if quick else PEERS if device == "cuda" else [EAGER, "default"]
    if unknown := set(words.split(",")) - set(PEERS):
        raise ValueError(f"no peer '{', '.join(sorted(unknown))}'; there are {', '.join(PEERS)}")
    return words.split(",")


def peers_of(shape: Shape, peers: list[str]) -> list[str]:
    return [peer for peer in peers if peer != GRAPHS or shape.graphs]


# ---- Floors: the least time on an H200 ----

FLOPS_PER_SECOND = 790e12  # bf16 matrix products, measured
BYTES_PER_SECOND = 4.3e12  # copies, measured
# Published for an H100 at head width 64 and 1024 tokens; used for every shape.
ATTENTION_FORWARD, ATTENTION_BACKWARD = 288e12, 269e12


def parameters_of(model: dict) -> int:
    width, wide, rows = model["n_embd"], model["n_ff"], model["vocab_pad"]
    layer = 4 * width * width + 4 * width + 2 * width * wide + wide + width + 4 * width
    count = rows * width + model["n_layer"] * layer
    if model["positions"] == "learned":
        count += model["n_positions"] * width
    if model["norm"] == "pre":
        count += 2 * width
    return count + (0 if model["tie_head"] else rows * width) + (rows if model["head_bias"] else 0)


@dataclasses.dataclass(frozen=True)
class Floors:
    flop: float
    bytes: float
    strict: float  # seconds: products and memory each at full rate, overlapped completely
    serial: float  # seconds: the same one after another, attention at the rate of published kernels


def floors(shape: Shape) -> Floors:
    """Returns the least time of a step in bf16, with fp32 parameters and moments."""
    model, tokens = shape.model, shape.tokens
    layers, width, wide, rows = model["n_layer"], model["n_embd"], model["n_ff"], model["vocab_pad"]
    products = 6 * (layers * (4 * width * width + 2 * width * wide) + rows * width)
    attention = width * shape.length * layers  # of one product over half the square; two forward, five backward
    # Reads and writes of each linear layer, residual and norm, attention, the input of a GELU.
    linears = 6 * (layers * (4 * width + 2 * width + 2 * (width + wide)) + width + rows)
    pointwise = layers * 32 * width + 4 * rows + 10 * width  # norms, cross-entropy in place, embedding
    others = layers * (24 * width + 8 * width + (0 if model["activation"] == "relu" else 4 * wide))
    optimizer = 30 * parameters_of(model)
    flop = tokens * (products + 7 * attention)
    traffic = tokens * (linears + pointwise + others) + optimizer
    serial = (tokens * products / FLOPS_PER_SECOND
              + tokens * attention * (2 / ATTENTION_FORWARD + 5 / ATTENTION_BACKWARD)
              + (tokens * pointwise + optimizer) / BYTES_PER_SECOND)
    return Floors(flop, traffic, max(flop / FLOPS_PER_SECOND, traffic / BYTES_PER_SECOND), serial)


# ---- Statistics ----


def window_of(warm_up: int, steps: int) -> int:
    """Returns the steps between two readings of the clock. The trainer reads it where it logs, and only there waits for
    the GPU. As many steps as leave at least five readings, at most ten."""
    return next(w for w in range(min(10, max(1, steps // 5)), 0, -1) if warm_up % w == 0 and steps % w == 0)


def in_windows(seconds: list[float], window: int) -> list[float]:
    """Returns means of `window` steps at a time."""
    return [statistics.fmean(seconds[i : i + window]) for i in range(0, len(seconds) - window + 1, window)]


def percentile(values: list[float], part: float) -> float:
    """Interpolates between the two nearest, as numpy does by default."""
    ordered = sorted(values)
    place = part * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


@dataclasses.dataclass(frozen=True)
class Times:
    median: float
    p10: float
    p90: float


def times_of(rounds: list[list[float]]) -> Times:
    """Summarises the readings of all rounds together, each a list of seconds without the warm-up."""
    values = [value for round_ in rounds for value in round_]
    return Times(statistics.median(values), percentile(values, 0.1), percentile(values, 0.9))


# ---- Losses ----

EARLY_STEPS = 20
TOLERANCES = {"fp32": (1e-4, 1e-4), "bf16": (0.02, 0.05)}


@dataclasses.dataclass(frozen=True)
class Agreement:
    early: float  # largest difference of a step's loss in the first EARLY_STEPS steps
    all: float
    problem: str  # empty: they agree


def agreement(ours: list[float], theirs: list[float], precision: str) -> Agreement:
    """Compares losses step by step. If one is shorter, its missing steps are not compared; a NaN never agrees."""
    compared = min(len(ours), len(theirs))
    apart = [abs(a - b) for a, b in zip(ours, theirs)]
    apart = [math.inf if math.isnan(value) else value for value in apart]
    early, whole = TOLERANCES[precision]
    largest_early, largest = max(apart[:EARLY_STEPS], default=0.0), max(apart, default=0.0)
    if compared == 0:
        return Agreement(math.inf, math.inf, "there are no losses to compare")
    for step, value in enumerate(apart, 1):
        limit = early if step <= EARLY_STEPS else whole
        if value > limit:
            return Agreement(largest_early, largest,
                             f"step {step}: {ours[step - 1]:.6f} against {theirs[step - 1]:.6f}, {value:.1e} apart; "
                             f"{limit:g} is allowed")
    return Agreement(largest_early, largest, "")
