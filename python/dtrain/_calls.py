"""The calls that the methods of a client share: pages of lists, and the selection of experiments and trials."""

from __future__ import annotations

from typing import Any, Iterator

from . import _from_messages, _limits, _selector
from ._connection import Connection
from ._selector import Selection, Selector
from .errors import NotFoundError
from .results import Experiment
from .v1 import control_pb2 as pb


class Calls:
    """A connection to a coordinator, and what its methods call."""

    _connection: Connection

    def _pages(self, method: str, request: Any) -> Iterator[Any]:
        """Yields each page of a call's answer."""
        while True:
            page = self._connection.call(method, request)
            yield page
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    def _list(self, what: str, request: Any) -> Iterator[Any]:
        """Yields each entry of a list, such as "Trials"."""
        request.page_size = _limits.LIST_PAGE
        for page in self._pages(f"List{what}", request):
            yield from getattr(page, what.lower())

    def _named(self, name: str) -> list[int]:
        """Returns the experiments with this name, also archived ones."""
        return [one.experiment for one in self._list("Experiments", pb.ListExperimentsRequest(archived=True))
                if one.name == name]

    def _select(self, selection: Selection) -> Selector:
        """Returns the selector of an experiment or a trial."""
        return _selector.select(selection, self._named)

    def _select_experiment(self, selection: Selection) -> Selector:
        """Returns the selector of an experiment."""
        return _selector.select_experiment(selection, self._named)

    def _experiment(self, selector: Selector) -> Experiment:
        """Returns the selected experiment. Raises NotFoundError."""
        found = self._connection.call("ListExperiments", selector.into(pb.ListExperimentsRequest())).experiments
        if found:
            return _from_messages.experiment(found[0])._bound(self)
        raise NotFoundError("there are no experiments yet; start one with Client.submit" if selector.last else
                            f"there is no experiment {selector.experiment}; Client.experiments() lists them")

    def _settled(self, selector: Selector) -> Selector:
        """Returns the selector with the experiment's number, so that "last" stays the same experiment while pages are
        read."""
        return Selector(self._experiment(selector).experiment, trial=selector.trial) if selector.last else selector

    def _parameters(self, selector: Selector) -> list[str]:
        """Returns the paths of the swept parameters."""
        request = pb.GetExperimentRequest(experiment=selector.experiment)
        return [one.path for one in self._connection.call("GetExperiment", request).spec.parameters]
