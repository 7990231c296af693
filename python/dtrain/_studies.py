"""Methods of a client that open a search whose trials run in this process."""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import Any, Mapping

from . import _config
from ._changes import Changes
from ._study import Objective, Study
from ._submissions import Submissions
from .errors import ConflictError, UsageError
from .v1 import control_pb2 as pb

_CLIENT = "dtrain:client"
_DEFINE_BY_RUN = "define-by-run"
_RENAMES_MOST = 10


class Studies(Submissions, Changes):
    """The part of `Client` that opens studies."""

    def study(self, space: Mapping[str, Any] | None = None, *, metric: str = "value", goal: str = "minimize",
              name: str | None = None, method: str = "bayes", n_trials: int | None = None, steps: int | None = None,
              stop: Mapping[str, Any] | None = None, seed: int | None = None, lease: float | None = None,
              **search: Any) -> Study:
        """Opens a search whose trials run in this process, or joins the one of this name.

        >>> study = client.study({"lr": {"min": 1e-5, "max": 1e-1, "scale": "log"}, "layers": [2, 4, 8]},
        ...                      metric="val_loss", name="mine", n_trials=50)

        Args:
            space: the parameters, as in an experiment file. Without it trials have those that they ask for:
                `StudyTrial.suggest_float` and the like.
            method: as in an experiment file. Without a space it is bayes, or asha with `sampler="bayes"`.
            n_trials: trials in total, over all processes and runs; a grid has its own number. If the study exists and
                has fewer, it is extended.
            steps: the last step that trials report; asha needs it.
            stop: rules that end trials early, as in an experiment file: ``{"median": {"after": 5}}``.
            lease: seconds of silence after which a trial goes to another asker; a minute if absent.
            search: further fields of the file's search, such as `max_concurrent` or `target`.
        """
        name = name or f"study-{secrets.token_hex(4)}"
        found = self._find_study(name, metric, goal)
        if found is None:
            file: dict[str, Any] = {
                "version": 1, "name": name, "command": [_CLIENT] if space is not None else [_CLIENT, _DEFINE_BY_RUN],
                "search": {"method": method, "metric": metric, "goal": goal, **search}}
            given = {"parameters": space, "steps": steps, "stop": stop, "seed": seed}
            file.update((key, value) for key, value in given.items() if value is not None)
            if method != "grid":
                file["search"]["max_trials"] = n_trials or 100
            found = self._new_study(file)
        experiment, planned = found
        if method != "grid" and n_trials is not None and n_trials > planned:
            self.extend(experiment, max_trials=n_trials)
        return Study(self, experiment, metric, lease)  # type: ignore[arg-type]

    def optimize(self, objective: Objective, n_trials: int = 100, *, n_jobs: int = 1, name: str | None = None,
                 metric: str = "value", goal: str = "minimize", timeout: float | None = None,
                 catch: type[Exception] | tuple[type[Exception], ...] = (), **study: Any) -> Study:
        """Minimizes a function whose parameters it chooses itself, or goes on with the search of this name.

        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -10, 10)
        ...     return (x - 2) ** 2
        >>> client.optimize(objective, n_trials=50, name="square").best_params
        {'x': 2.0013}

        Args:
            n_trials: trials in total, over all processes and runs under this name.
            n_jobs: trials at once, in threads of this process. Other processes may join by the same call.
            timeout: seconds after which no more trials start, and a coordinator that does not answer is waited for no
                longer.
            catch: exceptions of the objective that fail their trial alone.
            study: further arguments of `study`, such as `steps` and `stop`.
        """
        began = time.monotonic()
        with self._connection.until(None if timeout is None else began + timeout):
            opened = self.study(study.pop("space", None), metric=metric, goal=goal, name=name, n_trials=n_trials,
                                **study)
        left = None if timeout is None else timeout - (time.monotonic() - began)
        opened.optimize(objective, n_jobs=n_jobs, timeout=left, catch=catch)
        return opened

    def _new_study(self, file: Mapping[str, Any]) -> tuple[int, int]:
        """Submits a study. Returns it, or the one that another process opens now, and its number of trials."""
        name, search = str(file["name"]), file["search"]
        for turn in range(_RENAMES_MOST):
            # The id makes one study of two processes that open it at once. A study that was renamed has used one up.
            key = hashlib.sha256(f"study {_config.who()} {name} {turn}".encode()).hexdigest()
            refused = None
            try:
                self.submit(file, request_id=key)
            except ConflictError as error:  # it has other content
                refused = error
            found = self._find_study(name, search["metric"], search["goal"])
            if found is not None:
                return found
        raise refused or ConflictError(f"{_RENAMES_MOST} studies of the name '{name}' were renamed; give another name")

    def _find_study(self, name: str, metric: str, goal: str = "") -> tuple[int, int] | None:
        """Returns the newest study of this name and its number of trials. Raises UsageError if it has another metric or
        goal."""
        for number in sorted(self._named(name), reverse=True):
            spec = self._connection.call("GetExperiment", pb.GetExperimentRequest(experiment=number)).spec
            if list(spec.base.command[:1]) != [_CLIENT]:
                continue
            if spec.search.metric != metric:
                raise UsageError(f"study '{name}' (experiment {number}) has the metric '{spec.search.metric}', not "
                                 f"'{metric}'; give another name")
            if goal and spec.search.goal and spec.search.goal != goal:
                raise UsageError(f"study '{name}' (experiment {number}) has the goal {spec.search.goal}, not {goal}; "
                                 "give that goal, or another name")
            return number, int(spec.search.max_trials)
        return None
