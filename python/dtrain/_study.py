"""Searches whose trials run in this process: ask and tell, and objectives that choose their parameters."""

from __future__ import annotations

import math
import secrets
import socket
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

from . import _limits
from ._suggestion import Choices, float_parameter, int_parameter
from .errors import BusyError, ConflictError, NotFoundError, UnreachableError, UsageError, WaitTimeoutError
from .v1 import control_pb2 as pb
from .v1 import model_pb2

if TYPE_CHECKING:
    from .client import Client
    from .results import Experiment, Trial

Objective = Callable[["StudyTrial"], "float | None"]
_ENDS = {"finished": pb.TellTrialRequest.FINISHED, "failed": pb.TellTrialRequest.FAILED,
         "pruned": pb.TellTrialRequest.PRUNED, "given_back": pb.TellTrialRequest.GIVEN_BACK}


# Raised by float() for a value that is no number: an integer may be too large, a tensor may have several elements.
_NO_NUMBER = (TypeError, ValueError, OverflowError, RuntimeError)


class TrialPruned(Exception):
    """Raised by an objective to end its trial early; the values that it reported count."""


class StudyTrial:
    """A trial that this process runs: its parameters, and its reports.

    `params` has the values so far, by name; `rungs` are the steps at which an asha search compares trials.
    """

    def __init__(self, study: Study, asker: int, answer: pb.AskTrialResponse) -> None:
        self._study, self._asker, self._token = study, asker, answer.attempt_token
        self._reason: str | None = None  # why it has ended for this process; None: it goes on
        self._ends: float | None = None  # when its calls wait for a coordinator no longer
        self._told = False
        self.number = self._trial = int(answer.trial)
        self.seed = int(answer.seed)
        self.rungs = [int(step) for step in answer.rungs]
        self.params: dict[str, Any] = {one.path: _plain(one.value) for one in answer.values}

    def __repr__(self) -> str:
        return f"dtrain.StudyTrial({self.id!r}, params={self.params!r})"

    @property
    def id(self) -> str:
        """The name of the trial for every command and call, such as ``"12/3"``."""
        return f"{self._study.experiment}/{self._trial}"

    def suggest_float(self, name: str, low: float, high: float, *, step: float | None = None,
                      log: bool = False) -> float:
        """Returns a number from `low` to `high`: any, or `low` plus a multiple of `step`; with `log`, drawn on a
        logarithmic scale."""
        return float(self._suggested(name, lambda: Choices.of(float_parameter(name, low, high, step, log))))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Returns an integer from `low` to `high`, `low` plus a multiple of `step`."""
        return int(self._suggested(name, lambda: Choices.of(int_parameter(name, low, high, step, log))))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Returns one of the choices."""
        return self._suggested(name, lambda: Choices.among(name, choices))

    def report(self, value: float | Mapping[str, float], step: int) -> None:
        """Reports the metric after `step`, which never falls; a dict has several metrics, by name. A search may then
        end the trial: see `should_stop`."""
        metrics = value if isinstance(value, Mapping) else {self._study.metric: value}
        self._study._report(self, metrics, step)

    def should_stop(self) -> bool:
        """Returns whether the trial has ended: a rule of the search ended it, or somebody cancelled it."""
        return self._reason is not None

    def should_prune(self) -> bool:
        """Returns the same as `should_stop`, in Optuna's word."""
        return self.should_stop()

    @property
    def stop_reason(self) -> str:
        """Why it is to stop; "" if it is not."""
        return self._reason or ""

    def _suggested(self, name: str, make: Callable[[], Choices]) -> Any:
        """Returns the trial's value of a parameter, which the coordinator chooses if the trial has none."""
        choices = make()
        if name not in self.params:
            self.params[name] = _plain(self._study._suggest(self, choices.parameter))
        return choices.original(self.params[name])


class Study:
    """A search whose trials run in this process, and in any other that opens a study of the same name.

    `Client.study` makes it. The coordinator keeps it as an experiment, `experiment` is its number: every command and
    call, and the page, show it as any other. If this process dies, its open trials go to the next one that asks.

    >>> study = client.study({"lr": {"min": 1e-5, "max": 1e-1, "scale": "log"}}, name="mine", n_trials=50)
    >>> while (trial := study.ask()) is not None:
    ...     study.tell(trial, train(**trial.params))
    >>> study.best_params
    """

    def __init__(self, client: Client, experiment: int, metric: str, lease: float | None) -> None:
        self.client, self.experiment, self.metric = client, experiment, metric
        self._lease = lease or 0.0
        self._lock = threading.Lock()
        self._open: dict[int, StudyTrial] = {}
        self._beats: threading.Thread | None = None
        self._stopped = threading.Event()

    def __repr__(self) -> str:
        return f"dtrain.Study(experiment={self.experiment})"

    def ask(self, *, timeout: float | None = None) -> StudyTrial | None:
        """Returns a trial to run; None once there is none left.

        Waits while the search has trials to come and may not give one yet, because it is paused or `max_concurrent`
        trials run; after `timeout` seconds raises a WaitTimeoutError.
        """
        trial, _ = self._ask(None if timeout is None else time.monotonic() + timeout, threading.Event())
        return trial

    def tell(self, trial: StudyTrial, value: float | Mapping[str, float] | None = None, *, state: str = "",
             message: str = "") -> bool:
        """Ends a trial with its value, or with a state: ``"failed"``, ``"pruned"`` or ``"given_back"``, which another
        asker gets. Returns whether it counted: False if the trial had ended in another way before.

        A value that is not a number fails the trial. Of the values that a trial reported, the best one counts.
        """
        metrics = value if isinstance(value, Mapping) else {} if value is None else {self.metric: value}
        state = {"complete": "finished", "fail": "failed"}.get(state.lower(), state.lower())
        if not state:
            good = _is_number(metrics.get(self.metric))
            state = "finished" if good else "failed"
            message = message or ("" if good else f"its client told {_shown(value)} as its {self.metric}")
        if state not in _ENDS:
            raise UsageError(f"state is {state!r}; give 'finished', 'failed', 'pruned' or 'given_back'")
        sent = {} if state in ("failed", "given_back") else metrics
        # Its lease is renewed until the coordinator has the answer.
        answer = self._call("TellTrial", trial._ends, lambda: pb.TellTrialRequest(
            experiment=self.experiment, asker=trial._asker, attempt_token=trial._token, end=_ENDS[state],
            metrics=_metrics(sent), message=_sendable(message[:1000])))
        trial._told = True
        self._end(trial, trial.stop_reason or answer.message)
        return bool(answer.counted)

    def optimize(self, objective: Objective, n_trials: int | None = None, *, n_jobs: int = 1,
                 timeout: float | None = None, catch: type[Exception] | tuple[type[Exception], ...] = ()) -> None:
        """Runs trials until the search has ended, or this call has run `n_trials`: each is a call of
        `objective(trial)`, which returns the metric.

        An objective that raises `TrialPruned` ends its trial early. Any other exception fails the trial, and is raised
        if it is not one of `catch`. When other processes run the last trials, this waits for them, and takes over
        those of a process that dies.

        Args:
            n_jobs: trials at once, in threads of this process.
            timeout: seconds after which no more trials start, and a coordinator that does not answer is waited for no
                longer; that raises an UnreachableError.
        """
        self._optimize(lambda trial: self._run_one(objective, trial, catch), n_trials, n_jobs, timeout)

    def stop(self) -> None:
        """Makes `optimize` return after the trials that run now; the study goes on, and may be continued."""
        self._stopped.set()

    @property
    def trials(self) -> list[Trial]:
        """The trials so far."""
        return self.client.trials(self.experiment)

    @property
    def best_trial(self) -> Trial:
        """The trial with the best value."""
        return self.client.best(self.experiment)

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial."""
        return dict(self.best_trial.parameters)

    @property
    def best_value(self) -> float | None:
        """The best value."""
        return self.best_trial.metric_value

    @property
    def state(self) -> Experiment:
        """The experiment: how many trials it has, and how they ended."""
        return self.client.experiment(self.experiment)

    def _optimize(self, run: Callable[[StudyTrial], None], n_trials: int | None, n_jobs: int, timeout: float | None
                  ) -> None:
        """Passes trials to `run`, which ends each of them, in `n_jobs` threads."""
        if n_jobs < 1:
            raise UsageError(f"n_jobs is {n_jobs}; give 1 or more")
        self._stopped.clear()
        ends = None if timeout is None else time.monotonic() + timeout
        left = _Left(n_trials)
        if n_jobs == 1:
            return self._run_trials(run, left, ends)
        with ThreadPoolExecutor(n_jobs, thread_name_prefix="dtrain-study") as pool:
            threads = [pool.submit(self._run_trials, run, left, ends) for _ in range(n_jobs)]
            try:
                for thread in threads:
                    thread.result()
            except BaseException:
                self._stopped.set()
                raise
        return None

    def _ask(self, ends: float | None, stopped: threading.Event) -> tuple[StudyTrial | None, bool]:
        """Returns a trial, or None; and whether every trial has ended. Waits no longer once `stopped` is set."""
        asker = secrets.randbits(64) or 1
        pause = _limits.ASK_FIRST_SECONDS
        while True:
            answer = self._call("AskTrial", ends, lambda: pb.AskTrialRequest(
                experiment=self.experiment, asker=asker, host=socket.gethostname(), lease_seconds=self._lease))
            if answer.trial:
                trial = StudyTrial(self, asker, answer)
                with self._lock:
                    self._open[asker] = trial
                self._start_beats()
                return trial, False
            if answer.over or answer.none_left:
                return None, bool(answer.over)
            if ends is not None and time.monotonic() >= ends:
                raise WaitTimeoutError(f"experiment {self.experiment} gave no trial in time: {answer.reason}")
            if stopped.wait(pause):
                return None, False
            pause = min(2 * pause, _limits.POLL_SECONDS)

    def _run_trials(self, run: Callable[[StudyTrial], None], left: _Left, ends: float | None) -> None:
        while not self._stopped.is_set() and (ends is None or time.monotonic() < ends) and left.take():
            try:
                trial, over = self._ask(ends, self._stopped)
            except WaitTimeoutError:
                return
            if trial is not None:
                trial._ends = ends
            else:
                left.give_back()
                if over:
                    return
                self._stopped.wait(_limits.POLL_SECONDS)
                continue
            run(trial)

    def _run_one(self, objective: Objective, trial: StudyTrial,
                 catch: type[Exception] | tuple[type[Exception], ...]) -> None:
        try:
            value = objective(trial)
        except TrialPruned as pruned:
            self.tell(trial, state="pruned", message=str(pruned))
        except Exception as error:
            self.tell(trial, state="failed", message=f"{type(error).__name__}: {error}")
            if not isinstance(error, catch):
                raise
        except BaseException:  # Ctrl-C
            self.tell(trial, state="given_back", message="its client was interrupted")
            raise
        else:
            self.tell(trial, value)
            if not _is_number(value.get(self.metric) if isinstance(value, Mapping) else value):
                warnings.warn(f"trial {trial.id} failed: its objective returned {_shown(value):.100}; return its "
                              f"{self.metric}, a number", stacklevel=2)

    def _suggest(self, trial: StudyTrial, parameter: model_pb2.Parameter) -> model_pb2.Value:
        if trial._told:
            raise UsageError(f"trial {trial.id} was told: it has no more values")
        try:
            return self._call("SuggestValue", trial._ends, lambda: pb.SuggestValueRequest(
                experiment=self.experiment, asker=trial._asker, attempt_token=trial._token, parameter=parameter)).value
        except ConflictError:
            if not self._beat(trial):
                raise
            raise TrialPruned(trial.stop_reason) from None

    def _report(self, trial: StudyTrial, metrics: Mapping[str, float], step: int) -> None:
        if trial._told:
            raise UsageError(f"trial {trial.id} was told: it takes no more reports")
        if trial._reason is not None:
            return
        answer = self._call("ReportTrial", trial._ends, lambda: pb.ReportTrialRequest(
            experiment=self.experiment, asker=trial._asker, attempt_token=trial._token, step=int(step),
            metrics=_metrics(metrics)))
        if answer.stop:
            self._end(trial, answer.reason)

    def _end(self, trial: StudyTrial, reason: str) -> None:
        trial._reason = reason or "it has ended"
        with self._lock:
            self._open.pop(trial._asker, None)

    def _beat(self, trial: StudyTrial) -> bool:
        """Renews the lease of a trial. Returns whether it has ended."""
        try:
            answer = self.client._connection.call("ReportTrial", pb.ReportTrialRequest(
                experiment=self.experiment, asker=trial._asker, attempt_token=trial._token))
        except NotFoundError as error:
            self._end(trial, str(error))
            return True
        if answer.stop:
            self._end(trial, answer.reason)
        return bool(answer.stop)

    def _start_beats(self) -> None:
        with self._lock:
            if self._beats is None:
                self._beats = threading.Thread(target=self._beat_on, name="dtrain-study-leases", daemon=True)
                self._beats.start()

    def _beat_on(self) -> None:
        """Renews the leases of the open trials, until there is none."""
        pause = min(_limits.BEAT_SECONDS, (self._lease or _limits.LEASE_SECONDS) / 5)
        while True:
            time.sleep(pause)
            with self._lock:
                trials = list(self._open.values())
                if not trials:
                    self._beats = None
                    return
            for trial in trials:
                try:
                    self._beat(trial)
                except (UnreachableError, BusyError):
                    continue  # the next beat is soon
                except Exception as error:  # noqa: BLE001: the next call of the main thread raises it
                    self._end(trial, str(error))

    def _call(self, method: str, ends: float | None, make: Callable[[], Any]) -> Any:
        """Returns the answer of a call, which is repeated while a coordinator restarts: to `ends`, and for five minutes
        at most."""
        try:
            request = make()
        except _NO_NUMBER as error:
            raise UsageError(f"this cannot be sent: {error}") from error
        began = time.monotonic()
        patience = began + _limits.FOLLOW_PATIENCE_SECONDS
        gives_up = patience if ends is None else min(ends, patience)
        pause = _limits.SUBMIT_RETRY_FIRST_SECONDS
        while True:
            try:
                with self.client._connection.until(gives_up):
                    return self.client._connection.call(method, request)
            except (UnreachableError, BusyError) as error:
                if time.monotonic() >= gives_up:
                    raise type(error)(f"waited {time.monotonic() - began:.1f} s for the coordinator at "
                                      f"{self.client.address}: {error}") from None
            time.sleep(max(0.0, min(pause, gives_up - time.monotonic())))
            pause = min(2 * pause, _limits.SUBMIT_RETRY_MAX_SECONDS)


class _Left:
    """How many trials a call may still run; None: any number. Threads share it."""

    def __init__(self, count: int | None) -> None:
        self._count, self._lock = count, threading.Lock()

    def take(self) -> bool:
        with self._lock:
            if self._count == 0:
                return False
            if self._count is not None:
                self._count -= 1
            return True

    def give_back(self) -> None:
        with self._lock:
            if self._count is not None:
                self._count += 1


def _is_number(value: Any) -> bool:
    try:
        return not math.isnan(float(value))
    except _NO_NUMBER:
        return False


def _shown(value: Any) -> str:
    """Returns the value as text for a message."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001: an integer may have too many digits, and a class of the objective may err
        return f"a value of type {type(value).__name__}"


def _sendable(text: str) -> str:
    """Returns the text as UTF-8 can hold it: an exception may name a file whose name has other bytes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _metrics(values: Mapping[str, Any]) -> Iterable[model_pb2.Metric]:
    return [model_pb2.Metric(name=str(name), value=float(value)) for name, value in values.items()]


def _plain(value: model_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "numbers":
        return list(value.numbers.values)
    return getattr(value, kind) if kind else None
