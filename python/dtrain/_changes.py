"""Methods of a client that change something: experiments, workers, quotas."""

from __future__ import annotations

from typing import Any, Mapping

from . import _config, _from_messages
from ._calls import Calls
from ._selector import Selection
from .errors import UsageError
from .results import Checkpoint, Quota, Worker
from .v1 import control_pb2 as pb


class Changes(Calls):
    """The part of `Client` that changes experiments, workers and quotas."""

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
        return [_from_messages.checkpoint(one) for one in answer.left_behind]

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
        return [_from_messages.quota(one) for one in self._connection.call("ListQuotas", pb.ListQuotasRequest()).quotas]

    def _mark(self, worker: str | Worker, drain: bool, reason: str) -> bool:
        """Drains a worker, or ends the drain. Returns whether this changed anything."""
        name = worker.worker if isinstance(worker, Worker) else worker
        try:
            request = pb.MarkWorkerRequest(worker=name, drain=drain, who=_config.who(), reason=reason)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{worker!r} is no worker's name, or {reason!r} no reason: {error}") from error
        return bool(self._connection.call("MarkWorker", request).changed)

    def _change(self, experiment: Selection, change: pb.ChangeRequest) -> Any:
        """Sends a change of an experiment, and returns the answer."""
        request = self._select_experiment(experiment).into(pb.ChangeRequest())
        request.MergeFrom(change)
        request.who = _config.who()
        return self._connection.call("Change", request)


def _change_of(name: str, value: Any) -> pb.ChangeRequest:
    """Returns the change of one field. Raises UsageError for a value of another type."""
    try:
        return pb.ChangeRequest(**{name: value})
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} cannot be {value!r}: {error}") from error
