"""Methods of a client that read experiments, trials, checkpoints and workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Sequence

from . import _convert, _from_messages, _notebook, _selector, _tables
from ._calls import Calls
from ._notebook import Found
from ._selector import Selection
from .errors import NotFoundError, UsageError
from .results import Checkpoint, Description, Experiment, Explanation, Status, Trial, Worker
from .v1 import control_pb2 as pb
from .v1 import model_pb2

if TYPE_CHECKING:
    import pandas


class Summaries(Calls):
    """The part of `Client` that reads summaries."""

    _page: str | None = None  # set once it was requested

    def experiments(self, *, labels: Mapping[str, str] | None = None, archived: bool = False) -> list[Experiment]:
        """Returns every experiment, oldest first. With `labels`, only those that have all of them; with `archived`,
        also archived ones."""
        wanted = [model_pb2.Label(key=str(key), value=str(content)) for key, content in (labels or {}).items()]
        request = pb.ListExperimentsRequest(labels=wanted, archived=archived)
        return Found(_from_messages.experiment(one)._bound(self) for one in self._list("Experiments", request))

    def experiment(self, experiment: Selection = "last") -> Experiment:
        """Returns one experiment, by default the newest."""
        return self._experiment(self._select_experiment(experiment))

    def trials(self, selection: Selection = "last", *, states: Sequence[str] = ()) -> list[Trial]:
        """Returns the trials of an experiment, or the selected one; with `states`, those in one of these states.

        >>> [trial.message for trial in client.trials("last", states=["failed"])]
        """
        request = self._settled(self._select(selection)).into(pb.ListTrialsRequest(states=_states(states)))
        return Found(_from_messages.trial(one)._bound(self) for one in self._list("Trials", request))

    def trial(self, trial: Selection) -> Trial:
        """Returns one trial.

        >>> client.trial("last/3").val_loss
        """
        selector = self._settled(_selector.select_trial(trial, self._named))
        found = self._connection.call("ListTrials", selector.into(pb.ListTrialsRequest())).trials
        if not found:
            raise NotFoundError(f"there is no trial {selector.text()}")
        return _from_messages.trial(found[0])._bound(self)

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
        measured = [one for one in self.trials(found.experiment)
                    if one.metric_value is not None and not one.infeasible]
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
            failed = [one for one in self.trials(found.experiment) if one.state == "failed"]
            why = (f"{len(failed)} failed; trial {failed[0].id}: {failed[0].message}" if failed
                   else "a trial has it from its first evaluation or report on")
            raise NotFoundError(f"no trial of experiment {found.experiment} has a {found.metric} yet; {why}")
        return next((one for one in ranked if one.trial == found.best_trial), ranked[0])

    def pareto(self, experiment: Selection = "last") -> list[Trial]:
        """Returns the trials on the Pareto front of an experiment with several metrics, by the first metric, the best
        first; with one metric, the best trial.

        >>> [(one.parameters, one.objectives) for one in client.pareto("last")]
        """
        found = self.experiment(experiment)
        ranked = self.ranked(found)
        if not found.metrics:
            return Found(one for one in ranked if one.trial == found.best_trial)
        return Found(one for one in ranked if one.pareto)

    def checkpoints(self, selection: Selection = "last") -> list[Checkpoint]:
        """Returns the checkpoints of an experiment or a trial."""
        request = self._settled(self._select(selection)).into(pb.ListCheckpointsRequest())
        return [_from_messages.checkpoint(one) for one in self._list("Checkpoints", request)]

    def best_checkpoint(self, trial: Selection) -> Checkpoint | None:
        """Returns the best checkpoint of a trial, or the newest if none is marked best; None while there is none."""
        selector = self._settled(_selector.select_trial(trial, self._named))
        found = self.checkpoints(selector.text())
        return max(found, key=lambda one: (one.best, one.step), default=None)

    def workers(self) -> list[Worker]:
        """Returns the workers that are or were connected."""
        return [_from_messages.worker(one) for one in self._list("Workers", pb.ListWorkersRequest())]

    def describe(self, experiment: Selection = "last") -> Description:
        """Returns an experiment with its file as submitted, its sweep, and the value of each field."""
        request = self._select_experiment(experiment).into(pb.GetExperimentRequest())
        return _from_messages.description(self._connection.call("GetExperiment", request))

    def explain(self, trial: Selection) -> Explanation:
        """Explains why a trial waits, or what happened to it, attempt by attempt.

        >>> print(client.explain("last/1").explanation)
        """
        request = _selector.select_trial(trial, self._named).into(pb.ExplainTrialRequest())
        return _from_messages.explanation(self._connection.call("ExplainTrial", request))

    def status(self) -> Status:
        """Returns the coordinator's version, and the address of its /metrics."""
        return _from_messages.status(self._connection.call("GetStatus", pb.GetStatusRequest()))

    @property
    def page(self) -> str:
        """Returns where a browser here finds the coordinator's page; "" if it cannot."""
        if self._page is None:
            self._page = _notebook.page_address(self.status().http_address, self.address)
        return self._page


def _states(words: Sequence[str]) -> list[Any]:
    """Returns the numbers of states, from one word or several. Raises UsageError."""
    known = {_convert.word(model_pb2.TrialState, number): number for number in model_pb2.TrialState.values() if number}
    wanted = [words] if isinstance(words, str) else list(words)
    for one in wanted:
        if one not in known:
            raise UsageError(f"there is no state {one!r}; there are: {', '.join(str(word) for word in known)}")
    return [known[one] for one in wanted]
