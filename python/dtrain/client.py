"""The client: dtctl's commands as methods."""

from __future__ import annotations

import datetime
import math
import os
import secrets
import time
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Literal, Mapping, Sequence

from . import _config, _convert, _limits, _notebook, _pack, _progress, _selector, _source, _tables
from ._connection import Connection
from ._notebook import Found
from ._selector import Selection, Selector
from .errors import (BusyError, Diagnostic, FileRefusedError, NotFoundError, UnreachableError, UsageError,
                     WaitTimeoutError)
from .results import (Checkpoint, Description, Experiment, Explanation, LogLine, Plan, Quota, Status, Submission,
                      Trial, Value, Worker)
from .v1 import control_pb2 as pb
from .v1 import model_pb2

if TYPE_CHECKING:
    import pandas

Until = Literal["done", "running", "first-step"]
_NOT_YET = {"done": "did not end", "running": "did not train", "first-step": "made no step"}


class SubmitWarning(UserWarning):
    """An experiment was taken, but something in it is hardly intended."""


class Client:
    """A connection to a coordinator.

    Without arguments it connects to dtctl's coordinator: ``DTCTL_ADDRESS``, ``DTCTL_CONTEXT``, the current context of
    ``~/.config/dtrain/config.yaml``, or ``127.0.0.1:7600``. A client may be shared by threads, and is a context manager
    that closes it.

    >>> client = Client()
    >>> client = Client(context="lab")                # a name of `dtctl context add`
    >>> client = Client("alpha.example:7600", tls_ca="ca.crt", tls_cert="desk.crt", tls_key="desk.key")

    Args:
        address: ``host:port`` or ``unix:/path``.
        context: the name of a coordinator, whose TLS files are then used with any address.
        tls_ca, tls_cert, tls_key: PEM files for mutual TLS: all three, or none.
        token_file: the file with your token, if the coordinator requires one.
        timeout: seconds for each call, at most 60.

    To select an experiment or trial, methods take its number (``12``), ``"12/3"``, ``"last"``, ``"last/3"``, the name
    of an experiment, or another method's result. Every method raises a `DtrainError`.
    """

    def __init__(self, address: str | None = None, *, context: str | None = None, tls_ca: str | None = None,
                 tls_cert: str | None = None, tls_key: str | None = None, token_file: str | None = None,
                 timeout: float = _limits.CALL_SECONDS) -> None:
        files = _config.TlsFiles(*(os.fspath(path) if path else "" for path in (tls_ca, tls_cert, tls_key)))
        self._connection = Connection(_config.choose(address, context, files, os.environ,
                                                      os.fspath(token_file) if token_file else ""), timeout)
        self._page: str | None = None  # set once it was requested

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def __repr__(self) -> str:
        context = f", context={self.context!r}" if self.context else ""
        return f"dtrain.Client({self.address!r}{context})"

    @property
    def address(self) -> str:
        """The coordinator's address."""
        return self._connection.coordinator.address

    @property
    def context(self) -> str:
        """The source of the address; "" if it was given as an argument."""
        return self._connection.coordinator.context

    def close(self) -> None:
        """Ends the connection; experiments go on."""
        self._connection.close()

    # --- submitting ---

    def submit(self, experiment: _source.Source, *, overrides: Mapping[str, Any] | None = None,
               request_id: str | None = None) -> Submission:
        """Checks an experiment and starts it.

        >>> client.submit("grid.yaml", overrides={"train.max_steps": 100, "search.max_concurrent": 2})
        >>> client.submit({"version": 1, "name": "mine", "parameters": {"optimizer.lr": [3e-4, 1e-3]},
        ...                "data": {"train": "mine/train_*.bin", "val": "mine/val_*.bin"}})

        Args:
            experiment: the path of an experiment file, the text of one (it has a line break), or a dict of the same
                shape. The coordinator reads it, as dtctl would.
            overrides: fields to change, by their paths, like ``--set`` of ``dtctl submit``.
                The folder that ``code`` names, relative to the file or else to the working directory, is packed and
                sent along; in a file it stands on a line of its own, ``code: FOLDER``.
            request_id: a submission with a used id returns the same experiment. Without one, a random id is used, so
                that the call can be repeated safely for ten seconds while a coordinator restarts.

        Raises:
            FileRefusedError: with every mistake of the experiment; nothing was submitted.
            UnreachableError, BusyError: no coordinator answers, or it is busy.
        """
        deadline = time.monotonic() + _limits.SUBMIT_PATIENCE_SECONDS
        pause = _limits.SUBMIT_RETRY_FIRST_SECONDS
        text, packed = self._read(experiment, overrides)
        request = self._submit_request(text, overrides, request_id or secrets.token_hex(16), packed)
        while True:
            try:
                if packed is not None:
                    self._send_code(packed)
                return self._submitted(text, request)
            except UnreachableError:
                if time.monotonic() + pause >= deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _limits.SUBMIT_RETRY_MAX_SECONDS)

    def validate(self, experiment: _source.Source, *, overrides: Mapping[str, Any] | None = None) -> Submission:
        """Has the coordinator check an experiment as `submit` does, but starts nothing.

        The result has the number of trials, the parameters of the first hundred, the device on which they would run,
        and whether any connected worker could run them.

        >>> client.validate("grid.yaml").parameters[0]
        {'optimizer.lr': 0.0003, 'train.batch_size': 4}
        """
        text, packed = self._read(experiment, overrides)
        request = self._submit_request(text, overrides, "", packed)
        request.dry_run = True
        return self._submitted(text, request)

    @staticmethod
    def _read(experiment: _source.Source,
              overrides: Mapping[str, Any] | None) -> tuple[_source.Text, _pack.Packed | None]:
        text = _source.read(experiment)
        folder = _source.code_folder(experiment, text, overrides)
        include = _source.code_include(experiment, text, overrides)
        packed = _pack.pack_folder(folder, include) if folder is not None else None
        if packed is not None and packed.note:
            warnings.warn(packed.note, SubmitWarning, stacklevel=4)
        return text, packed

    def _send_code(self, packed: _pack.Packed) -> None:
        """Sends the parts that the coordinator lacks."""
        parts = range(0, len(packed.content), _limits.CODE_PART_BYTES)
        if self._connection.call("PutCode", pb.PutCodeRequest(digest=packed.digest)).complete:
            return
        for _ in range(_limits.CODE_ROUNDS):
            for number, start in enumerate(parts):
                part = pb.PutCodeRequest(digest=packed.digest, parts=len(parts), part=number,
                                         data=packed.content[start:start + _limits.CODE_PART_BYTES])
                if self._connection.call("PutCode", part).complete:
                    return
        raise UnreachableError(f"the coordinator had not got all of the code after {_limits.CODE_ROUNDS} times; it "
                               "restarts, or others send too much at once: submit again")

    @staticmethod
    def _submit_request(text: _source.Text, overrides: Mapping[str, Any] | None, request_id: str,
                        packed: _pack.Packed | None) -> pb.SubmitRequest:
        # The specification has only the code: the rest is in the file.
        spec = packed and model_pb2.ExperimentSpec(code=model_pb2.Code(
            digest=packed.digest, bytes=len(packed.content), files=packed.files, revision=packed.revision,
            changes=packed.changes))
        changes = _source.overrides(overrides)
        try:
            return pb.SubmitRequest(request_id=request_id, file_name=text.name, file_text=text.text,
                                    overrides=changes, who=_config.who(), spec=spec)
        except (TypeError, ValueError) as error:  # usually lone surrogates
            raise UsageError(f"the experiment cannot be sent: {error}; write it as UTF-8 text") from error

    def plan(self, experiment: _source.Source, *, overrides: Mapping[str, Any] | None = None) -> Plan:
        """Estimates what an experiment would need if it were submitted now: memory, time, and what it would wait for.

        >>> plan = client.plan("grid.yaml")
        >>> plan.fits, plan.finish_seconds
        (True, 5580.0)
        """
        text, packed = self._read(experiment, overrides)
        request = self._submit_request(text, overrides, "", packed)
        answer = self._connection.call("Plan", pb.PlanRequest(
            file_name=request.file_name, file_text=request.file_text, overrides=request.overrides,
            spec=request.spec if request.HasField("spec") else None))
        return _convert.plan(answer, self._diagnosed(text, answer.diagnostics))

    @staticmethod
    def _diagnosed(text: _source.Text, diagnostics: Any) -> list[Diagnostic]:
        found = [text.place(_convert.diagnostic(one)) for one in diagnostics]
        if errors := [one for one in found if one.severity == "error"]:
            raise FileRefusedError(errors)
        for one in found:
            warnings.warn(str(one), SubmitWarning, stacklevel=4)
        return found

    def _submitted(self, text: _source.Text, request: pb.SubmitRequest) -> Submission:
        answer = self._connection.call("Submit", request)
        found = self._diagnosed(text, answer.diagnostics)
        if answer.note:
            warnings.warn(answer.note, SubmitWarning, stacklevel=3)
        return _convert.submission(answer, found)._bound(self)

    # --- looking ---

    def experiments(self, *, labels: Mapping[str, str] | None = None, archived: bool = False) -> list[Experiment]:
        """Returns every experiment, oldest first. With `labels`, only those that have all of them; with `archived`,
        also archived ones."""
        wanted = [model_pb2.Label(key=str(key), value=str(content)) for key, content in (labels or {}).items()]
        request = pb.ListExperimentsRequest(labels=wanted, archived=archived)
        return Found(_convert.experiment(one)._bound(self) for one in self._list("Experiments", request))

    def experiment(self, experiment: Selection = "last") -> Experiment:
        """Returns one experiment, by default the newest."""
        return self._experiment(self._select_experiment(experiment))

    def trials(self, selection: Selection = "last", *, states: Sequence[str] = ()) -> list[Trial]:
        """Returns the trials of an experiment, or the selected one; with `states`, those in one of these states.

        >>> [trial.message for trial in client.trials("last", states=["failed"])]
        """
        request = self._settled(self._select(selection)).into(pb.ListTrialsRequest(states=_states(states)))
        return Found(_convert.trial(one)._bound(self) for one in self._list("Trials", request))

    def trial(self, trial: Selection) -> Trial:
        """Returns one trial.

        >>> client.trial("last/3").val_loss
        """
        selector = self._settled(_selector.select_trial(trial, self._named))
        found = self._connection.call("ListTrials", selector.into(pb.ListTrialsRequest())).trials
        if not found:
            raise NotFoundError(f"there is no trial {selector.text()}")
        return _convert.trial(found[0])._bound(self)

    def trials_df(self, selection: Selection = "last", *, states: Sequence[str] = ()) -> pandas.DataFrame:
        """Returns `trials` as a data frame: a row for each, with a column for each parameter, by its path, then its
        result and its other fields. If a path is a field's name, the column has the prefix `parameters.`.

        >>> client.trials_df().groupby("optimizer.lr").best_val_loss.mean()
        """
        selector = self._settled(self._select(selection))
        return _tables.trials_frame(self.trials(selector.text(), states=states), self._parameters(selector))

    def ranked(self, experiment: Selection = "last") -> list[Trial]:
        """Returns the trials of an experiment that have a value of its search metric, the best first."""
        found = self._experiment(self._select_experiment(experiment))
        sign = -1 if found.goal == "maximize" else 1
        measured = [one for one in self.trials(found.experiment) if one.metric_value is not None]
        return Found(sorted(measured, key=lambda one: sign * (one.metric_value or 0.0)))

    def best(self, experiment: Selection = "last") -> Trial:
        """Returns the best trial by the search metric; under asha, the best fully trained one, if there is one.

        Raises NotFoundError while none was evaluated.

        >>> best = client.best("last")
        >>> best.parameters, best.metric_value, client.best_checkpoint(best).path
        """
        found = self.experiment(experiment)
        ranked = self.ranked(found)
        if not ranked:
            raise NotFoundError(f"no trial of experiment {found.experiment} has a {found.metric} yet; trials are "
                                "evaluated every eval.every steps, and at their end")
        return next((one for one in ranked if one.trial == found.best_trial), ranked[0])

    def checkpoints(self, selection: Selection = "last") -> list[Checkpoint]:
        """Returns the checkpoints of an experiment or a trial."""
        request = self._settled(self._select(selection)).into(pb.ListCheckpointsRequest())
        return [_convert.checkpoint(one) for one in self._list("Checkpoints", request)]

    def best_checkpoint(self, trial: Selection) -> Checkpoint | None:
        """Returns the best checkpoint of a trial, or the newest if none is marked best; None while there is none."""
        selector = self._settled(_selector.select_trial(trial, self._named))
        found = self.checkpoints(selector.text())
        return max(found, key=lambda one: (one.best, one.step), default=None)

    def workers(self) -> list[Worker]:
        """Returns the workers that are or were connected."""
        return [_convert.worker(one) for one in self._list("Workers", pb.ListWorkersRequest())]

    def describe(self, experiment: Selection = "last") -> Description:
        """Returns an experiment with its file as submitted, its sweep, and the value of each field."""
        request = self._select_experiment(experiment).into(pb.GetExperimentRequest())
        return _convert.description(self._connection.call("GetExperiment", request))

    def explain(self, trial: Selection) -> Explanation:
        """Explains why a trial waits, or what happened to it, attempt by attempt.

        >>> print(client.explain("last/1").explanation)
        """
        request = _selector.select_trial(trial, self._named).into(pb.ExplainTrialRequest())
        return _convert.explanation(self._connection.call("ExplainTrial", request))

    def status(self) -> Status:
        """Returns the coordinator's version, and the address of its /metrics."""
        return _convert.status(self._connection.call("GetStatus", pb.GetStatusRequest()))

    @property
    def page(self) -> str:
        """Returns where a browser here finds the coordinator's page; "" if it cannot."""
        if self._page is None:
            self._page = _notebook.page_address(self.status().http_address, self.address)
        return self._page

    # --- numbers and logs ---

    def metrics(self, selection: Selection = "last", *, metrics: Sequence[str] = (),
                all_attempts: bool = False) -> Iterator[dict[str, Any]]:
        """Yields every logged step and evaluation as a dict, by trial, step and attempt, page by page.

        Keys are experiment, trial, attempt, step, then the metrics that the row has, named as in ``dtctl metrics``
        (docs/reference/command-line.md), and ``parameters``, the trial's. With `metrics`, only these; with
        `all_attempts`, also rows of steps that a later attempt repeated, marked ``superseded``.

        >>> [row["loss"] for row in client.metrics("last/1", metrics=["loss"])]
        """
        return self._rows(self._settled(self._select(selection)), _names(metrics), all_attempts)

    def metrics_df(self, selection: Selection = "last", *, metrics: Sequence[str] = (),
                   all_attempts: bool = False) -> pandas.DataFrame:
        """Returns `metrics` as a data frame. The trial's parameters are the last columns, by their paths; if another
        column has that name, the column has the prefix `parameters.`.

        >>> frame = client.metrics_df("last", metrics=["val_loss"])
        >>> frame.pivot_table(index="step", columns="optimizer.lr", values="val_loss").plot()
        """
        selector, names = self._settled(self._select(selection)), _names(metrics)
        return _tables.metrics_frame(self._rows(selector, names, all_attempts), names, all_attempts,
                                     self._parameters(selector))

    def plot(self, selection: Selection = "last", metric: str = "", *, over: str = "step", logy: bool = False,
             ax: Any = None) -> Any:
        """Draws a metric of an experiment's best trials, or of one trial, with matplotlib, and returns the axes.

        >>> client.plot("last")                       # what its trials are compared by, else the loss
        >>> client.plot("12/3", "loss", over="tokens", logy=True)

        Args:
            metric: a name of `metrics`.
            over: "step", or "tokens", which a program may not count.
            logy: whether the axis of the values is logarithmic.
            ax: axes to draw into.
        """
        if over not in ("step", "tokens"):
            raise UsageError(f"over is {over!r}; it must be 'step' or 'tokens'")
        selector = self._settled(self._select(selection))
        trials = self.trials(selector.text())
        chosen = trials if selector.trial else (self.ranked(selector.text()) or trials)[:_notebook.CURVES_SHOWN]
        wanted = [metric] if metric else [self._experiment(selector).metric or "loss", "loss"]
        for name in dict.fromkeys(wanted):
            curves = [(trial, self._points(trial, name)) for trial in chosen]
            if any(points for _, points in curves):
                break
        scale = {trial.trial: (trial.tokens_per_step or math.nan) if over == "tokens" else 1 for trial in chosen}
        return _notebook.draw(
            ((f"{trial.id} " + ", ".join(f"{path.rpartition('.')[2]}={value:.4g}" if isinstance(value, float) else
                                         f"{path.rpartition('.')[2]}={value}"
                                         for path, value in trial.parameters.items()),
              [step * scale[trial.trial] for step, _ in points], [value for _, value in points])
             for trial, points in curves if points), name, over, logy, ax)

    def _points(self, trial: Trial, metric: str) -> list[tuple[int, float]]:
        return [(row["step"], row[metric]) for row in self.metrics(trial)
                if metric in row and isinstance(row[metric], (int, float))]

    def _rows(self, selector: Selector, names: Sequence[str], all_attempts: bool) -> Iterator[dict[str, Any]]:
        listed = self._list("Trials", selector.into(pb.ListTrialsRequest()))
        parameters: dict[int, dict[str, Value]] = {one.trial: _convert.assignments(one.assignments) for one in listed}
        request = selector.into(pb.ReadMetricsRequest(all_attempts=all_attempts, page_size=_limits.METRIC_PAGE))
        return _tables.rows(selector.experiment, self._pages("ReadMetrics", request), names, all_attempts, parameters)

    def logs(self, trial: Selection, *, rank: int | None = None, follow: bool = False) -> Iterator[LogLine]:
        """Yields the output of a trial's trainers, line by line; with `follow`, until the trial has ended.

        >>> for line in client.logs("last/1", rank=0, follow=True):
        ...     print(line.text)
        """
        selector = _selector.select_trial(trial, self._named)
        found = self.trial(selector.text())
        if rank is not None and not 0 <= rank < max(1, found.world_size):
            raise NotFoundError(f"trial {found.id} has ranks 0 to {max(1, found.world_size) - 1}; there is no rank "
                                f"{rank}")
        return self._log_lines(found, -1 if rank is None else rank, follow)

    def _log_lines(self, trial: Trial, rank: int, follow: bool) -> Iterator[LogLine]:
        request = pb.ReadLogsRequest(experiment=trial.experiment, trial=trial.trial, rank=rank,
                                     page_size=_limits.LOG_PAGE)
        ended = not follow
        while True:
            page = self._connection.call("ReadLogs", request)
            for chunk in page.chunks:
                yield from _convert.log_lines(chunk)
            request.page_token = page.next_page_token
            if not page.at_end:
                continue
            # All output from before the end has arrived by then; one more look gets it.
            if ended:
                return
            ended = self.trial(trial).ended
            if not ended:
                time.sleep(_limits.POLL_SECONDS)

    # --- acting ---

    def cancel(self, selection: Selection, *, reason: str = "") -> int:
        """Stops an experiment or a trial at once, without a last checkpoint. Returns how many trials had not ended."""
        request = self._select(selection).into(pb.CancelRequest(reason=reason, who=_config.who()))
        return int(self._connection.call("Cancel", request).trials)

    def retry(self, selection: Selection, *, failed: bool = True, cancelled: bool = False) -> int:
        """Runs failed trials again from their newest checkpoints; with `cancelled`, also cancelled ones. Finished
        trials never run again. Returns how many will run."""
        request = self._select(selection).into(pb.RetryRequest(failed=failed, cancelled=cancelled, who=_config.who()))
        return int(self._connection.call("Retry", request).trials)

    def delete(self, experiment: Selection) -> list[Checkpoint]:
        """Removes an ended experiment with its metrics and logs. Returns its checkpoints, whose files stay."""
        selector = self._settled(self._select_experiment(experiment))
        answer = self._connection.call("Delete", pb.DeleteRequest(experiment=selector.experiment))
        return [_convert.checkpoint(one) for one in answer.left_behind]

    # --- changing ---

    def pause(self, experiment: Selection, *, let_run: bool = False) -> int:
        """Starts no more trials; running ones save and wait, unless `let_run`. Returns how many save."""
        return int(self._change(experiment, pb.ChangeRequest(pause={"let_run": let_run})).stopping)

    def resume(self, experiment: Selection) -> bool:
        """Lets a paused experiment go on. Returns whether it was paused."""
        return bool(self._change(experiment, pb.ChangeRequest(resume={})).changed)

    def set(self, experiment: Selection, *, max_concurrent: int | None = None, max_trials: int | None = None,
            max_gpus_total: int | None = None, priority: int | None = None) -> bool:
        """Changes how much of an experiment runs at once, and its priority. Returns whether anything changed.

        >>> client.set("last", max_concurrent=8, priority=5)
        """
        given = {"max_concurrent": max_concurrent, "max_trials": max_trials, "max_gpus_total": max_gpus_total,
                 "priority": priority}
        requests = [_change_of(name, value) for name, value in given.items() if value is not None]
        if not requests:
            raise UsageError(f"set what? give one of {', '.join(given)}")
        selector = self._settled(self._select_experiment(experiment))
        return any([self._change(selector.experiment, request).changed for request in requests])

    def extend(self, experiment: Selection, *, max_trials: int | None = None, max_steps: int | None = None) -> bool:
        """Lets a search try `max_trials` configurations in total, or unfinished trials train for `max_steps`."""
        given = {"max_trials": max_trials, "max_steps": max_steps}
        requests = [_change_of(name, value) for name, value in given.items() if value is not None]
        if len(requests) != 1:
            raise UsageError("extend by what? give max_trials or max_steps")
        return bool(self._change(experiment, requests[0]).changed)

    def rename(self, experiment: Selection, name: str) -> bool:
        """Renames an experiment."""
        return bool(self._change(experiment, _change_of("name", name)).changed)

    def note(self, experiment: Selection, text: str) -> bool:
        """Writes a note on an experiment; "" removes it."""
        return bool(self._change(experiment, _change_of("note", text)).changed)

    def label(self, experiment: Selection, labels: Mapping[str, str | None]) -> bool:
        """Sets labels of an experiment; None removes one.

        >>> client.label("last", {"team": "vision", "draft": None})
        """
        request = pb.ChangeRequest()
        request.labels.SetInParent()
        for key, value in labels.items():
            if value is None:
                request.labels.removed.append(str(key))
            else:
                request.labels.set.add(key=str(key), value=str(value))
        return bool(self._change(experiment, request).changed)

    def archive(self, experiment: Selection, archived: bool = True) -> bool:
        """Hides an ended experiment from lists; with False, shows it again."""
        return bool(self._change(experiment, _change_of("archived", archived)).changed)

    def drain(self, worker: str | Worker, *, reason: str = "") -> bool:
        """Drains a worker: its trial saves and goes on elsewhere. Returns whether it took work before."""
        return self._mark(worker, True, reason)

    def undrain(self, worker: str | Worker) -> bool:
        """Lets a drained or quarantined worker take work again."""
        return self._mark(worker, False, "")

    def set_quota(self, slots: int | None, *, user: str = "", label: str = "") -> bool:
        """Bounds the slots that the experiments of a user, or those with a label (`"team=vision"`), hold together; None
        removes the bound. Running trials are not stopped. Returns whether anything changed."""
        try:
            request = pb.SetQuotaRequest(user=user, label=label, removed=slots is None, slots=slots or 0,
                                         who=_config.who())
        except (TypeError, ValueError) as error:
            raise UsageError(f"{slots!r} is no number of slots, or the name cannot be sent: {error}") from error
        return bool(self._connection.call("SetQuota", request).changed)

    def quotas(self) -> list[Quota]:
        """Returns the quotas, and how many slots of each are held now."""
        return [_convert.quota(one) for one in self._connection.call("ListQuotas", pb.ListQuotasRequest()).quotas]

    def _mark(self, worker: str | Worker, drain: bool, reason: str) -> bool:
        name = worker.worker if isinstance(worker, Worker) else worker
        try:
            request = pb.MarkWorkerRequest(worker=name, drain=drain, who=_config.who(), reason=reason)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{worker!r} is no worker's name, or {reason!r} no reason: {error}") from error
        return bool(self._connection.call("MarkWorker", request).changed)

    def _change(self, experiment: Selection, change: pb.ChangeRequest) -> Any:
        request = self._select_experiment(experiment).into(pb.ChangeRequest())
        request.MergeFrom(change)
        request.who = _config.who()
        return self._connection.call("Change", request)

    def wait(self, selection: Selection = "last", *, until: Until = "done", timeout: float | None = None,
             progress: bool | None = None) -> Experiment | Trial:
        """Waits until an experiment, or a trial, has ended; returns its state at that time.

        It shows progress: in a notebook as a bar (with ipywidgets) or a line, in a terminal as a line on stderr,
        elsewhere not; `progress` True or False overrides this. If nothing runs, or no coordinator answers, it reports
        why and since when, also on stderr, unless `progress` is False. A coordinator may be away for five minutes.
        Interrupting ends the wait but not the experiment.

        >>> if not client.wait(submitted).succeeded:
        ...     print([trial.message for trial in client.trials(submitted, states=["failed"])])

        Args:
            until: ``"done"``; ``"running"``: a trial trains; ``"first-step"``: a trial has made a step.
            timeout: seconds after which to give up with a WaitTimeoutError.
        """
        if until not in ("done", "running", "first-step"):
            raise UsageError(f"until is {until!r}; give 'done', 'running' or 'first-step'")
        deadline = None if timeout is None else time.monotonic() + timeout
        selector = self._settled(self._select(selection))
        if selector.trial:
            self.trial(selector.text())  # checks that it exists
        shown = _progress.choose(progress)
        answered, answered_at, ratio = time.monotonic(), _now(), 0.0
        try:
            while True:
                try:
                    experiment = self._experiment(selector)
                    ratio = experiment.progress_ratio
                    shown.show(_progress.line(experiment), ratio)
                    shown.note(_progress.standstill(experiment))
                    reached = self._reached(experiment, selector, until)
                    answered, answered_at = time.monotonic(), _now()
                    if reached is not None:
                        return reached
                except (UnreachableError, BusyError):
                    if time.monotonic() - answered > _limits.FOLLOW_PATIENCE_SECONDS:
                        raise
                    text = _progress.silence(str(selector.experiment), answered_at, _now())
                    shown.show(text, ratio)
                    shown.note(text)
                if deadline is not None and time.monotonic() >= deadline:
                    raise WaitTimeoutError(f"{'trial' if selector.trial else 'experiment'} {selector.text()} "
                                           f"{_NOT_YET[until]} within {timeout:g} s; it goes on")
                left = _limits.POLL_SECONDS if deadline is None else deadline - time.monotonic()
                time.sleep(max(0.0, min(left, _limits.POLL_SECONDS)))
        finally:
            shown.end()

    def _reached(self, experiment: Experiment, selector: Selector, until: Until) -> Experiment | Trial | None:
        if selector.trial == 0 and (until == "done" or experiment.ended):
            return experiment if experiment.ended else None
        listed = self._list("Trials", selector.into(pb.ListTrialsRequest()))
        come = [one for one in map(_convert.trial, listed) if _has_come(one, until)]
        if selector.trial:
            return come[0] if come else None
        # A trial that ended before it trained tells nothing about the others.
        return experiment if any(one.step > 0 or not one.ended for one in come) else None

    # --- what they share ---

    def _pages(self, method: str, request: Any) -> Iterator[Any]:
        while True:
            page = self._connection.call(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _list(self, what: str, request: Any) -> Iterator[Any]:
        request.page_size = _limits.LIST_PAGE
        for page in self._pages(f"List{what}", request):
            yield from getattr(page, what.lower())

    def _named(self, name: str) -> list[int]:
        return [one.experiment for one in self._list("Experiments", pb.ListExperimentsRequest(archived=True))
                if one.name == name]

    def _select(self, selection: Selection) -> Selector:
        return _selector.select(selection, self._named)

    def _select_experiment(self, selection: Selection) -> Selector:
        return _selector.select_experiment(selection, self._named)

    def _experiment(self, selector: Selector) -> Experiment:
        found = self._connection.call("ListExperiments", selector.into(pb.ListExperimentsRequest())).experiments
        if found:
            return _convert.experiment(found[0])._bound(self)
        raise NotFoundError("there are no experiments yet; start one with Client.submit" if selector.last else
                            f"there is no experiment {selector.experiment}; Client.experiments() lists them")

    def _settled(self, selector: Selector) -> Selector:
        """Returns the selector by number, so that "last" means the experiment that is newest now, not one submitted
        while pages are read."""
        return Selector(self._experiment(selector).experiment, trial=selector.trial) if selector.last else selector

    def _parameters(self, selector: Selector) -> list[str]:
        request = pb.GetExperimentRequest(experiment=selector.experiment)
        return [one.path for one in self._connection.call("GetExperiment", request).spec.parameters]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _change_of(name: str, value: Any) -> pb.ChangeRequest:
    try:
        return pb.ChangeRequest(**{name: value})
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} cannot be {value!r}: {error}") from error


def _has_come(trial: Trial, until: Until) -> bool:
    return trial.ended or (until == "running" and trial.state == "running") or (
        until == "first-step" and trial.step > 0)


def _names(metrics: Sequence[str]) -> list[str]:
    return [metrics] if isinstance(metrics, str) else list(metrics)


def _states(words: Sequence[str]) -> list[Any]:
    known = {_convert.word(model_pb2.TrialState, number): number for number in model_pb2.TrialState.values() if number}
    wanted = [words] if isinstance(words, str) else list(words)
    for one in wanted:
        if one not in known:
            raise UsageError(f"there is no state {one!r}; there are: {', '.join(str(word) for word in known)}")
    return [known[one] for one in wanted]
