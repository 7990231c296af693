"""Optuna as search_bench's peer: proposes values and takes results, over standard input and output.

usage: optuna_peer.py, which prints Optuna's version, then reads lines:
study SAMPLER SEED DIMENSION…   random or tpe (one dimension at a time) or mtpe; forgets the last study
goals OBJECTIVES                how many the next studies have; they take a violation of constraints too
ask TRIAL                       answers with the values; for a list, the place in it; none: inactive
tell TRIAL COST                 after `goals`: tell TRIAL COST… VIOLATION, above 0 if it is infeasible
A DIMENSION is NAME:KIND:LOW:HIGH:STEP, with KIND float, log, int, logint, step or list (HIGH: its length), and for each
condition :INDEX=VALUE|VALUE, the values of another dimension with which it is active.
"""

import sys
import warnings

try:
    import optuna
except ImportError:
    sys.exit("this Python has no optuna: make a virtual environment, install it there and name its Python")

warnings.filterwarnings("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def sampler_of(kind: str, seed: int, conditional: bool, constrained: bool):
    if kind == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    # Groups are Optuna's way to keep a multivariate model where trials have different parameters.
    group = {"group": True} if conditional and kind == "mtpe" else {}
    violations = (lambda trial: trial.user_attrs["violations"]) if constrained else None
    return optuna.samplers.TPESampler(seed=seed, multivariate=kind == "mtpe", constraints_func=violations, **group)


def tell(study, trial, numbers: list[float], objectives: int) -> None:
    if objectives == 0:
        study.tell(trial, numbers[0])
        return
    trial.set_user_attr("violations", [numbers[objectives]])
    study.tell(trial, numbers[:objectives])


def suggest(trial, dimension: list[str]):
    name, kind, low, high, step = dimension[0], dimension[1], *map(float, dimension[2:5])
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


def needs_of(dimension: list[str]) -> list[tuple[int, list[float]]]:
    needs = [need.split("=") for need in dimension[5:]]
    return [(int(index), [float(value) for value in values.split("|")]) for index, values in needs]


def answer(trial, dimensions: list[list[str]]) -> list[str]:
    values: dict[int, float | None] = {}
    while len(values) < len(dimensions):
        for index, dimension in enumerate(dimensions):
            needs = needs_of(dimension)
            if index in values or any(other not in values for other, _ in needs):
                continue
            active = all(values[other] in wanted for other, wanted in needs)
            values[index] = float(suggest(trial, dimension)) if active else None
    return ["none" if values[i] is None else repr(values[i]) for i in range(len(dimensions))]


def main() -> None:
    print(optuna.__version__, flush=True)
    study, dimensions, trials, objectives = None, [], {}, 0
    for line in sys.stdin:
        words = line.split()
        if words[0] == "study":
            dimensions, trials = [word.split(":") for word in words[3:]], {}
            conditional = any(len(dimension) > 5 for dimension in dimensions)
            sampler = sampler_of(words[1], int(words[2]), conditional, objectives > 0)
            study = optuna.create_study(sampler=sampler, directions=["minimize"] * max(1, objectives))
        elif words[0] == "goals":
            objectives = int(words[1])
        elif words[0] == "ask":
            trials[words[1]] = study.ask()
            print(*answer(trials[words[1]], dimensions), flush=True)
        else:
            tell(study, trials.pop(words[1]), [float(word) for word in words[2:]], objectives)


main()
