"""Optuna as search_bench's peer: proposes values and takes results, over standard input and output.

usage: optuna_peer.py, which prints Optuna's version, then reads lines:
study SAMPLER SEED DIMENSION…   random or tpe (one dimension at a time) or mtpe; forgets the last study
ask TRIAL                       answers with the values; for a list, the place in it
tell TRIAL COST
A DIMENSION is NAME:KIND:LOW:HIGH:STEP, with KIND float, log, int, logint, step or list (HIGH: its length).
"""

import sys
import warnings

try:
    import optuna
except ImportError:
    sys.exit("this Python has no optuna: make a virtual environment, install it there and name its Python")

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def sampler_of(kind: str, seed: int):
    if kind == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    return optuna.samplers.TPESampler(seed=seed, multivariate=kind == "mtpe")


def suggest(trial, dimension: list[str]):
    name, kind, low, high, step = dimension[0], dimension[1], *map(float, dimension[2:])
    if kind == "float":
        return trial.suggest_float(name, low, high)
    if kind == "log":
        return trial.suggest_float(name, low, high, log=True)
    if kind == "int":
        return trial.suggest_int(name, int(low), int(high), step=int(step))
    if kind == "logint":
        return trial.suggest_int(name, int(low), int(high), log=True)
    if kind == "step":
        return trial.suggest_float(name, low, high, step=step)
    return trial.suggest_categorical(name, list(range(int(high))))


def main() -> None:
    print(optuna.__version__, flush=True)
    study, dimensions, trials = None, [], {}
    for line in sys.stdin:
        words = line.split()
        if words[0] == "study":
            study = optuna.create_study(sampler=sampler_of(words[1], int(words[2])))
            dimensions, trials = [word.split(":") for word in words[3:]], {}
        elif words[0] == "ask":
            trials[words[1]] = study.ask()
            print(*(repr(float(suggest(trials[words[1]], each))) for each in dimensions), flush=True)
        else:
            study.tell(trials.pop(words[1]), float(words[2]))


main()
