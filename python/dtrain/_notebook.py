"""Shows results in a notebook: tables with links to the coordinator's page, and curves."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from .errors import DtrainError

if TYPE_CHECKING:
    from .client import Client

_LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
_ANY = ("0.0.0.0", "::", "[::]", "")
_ROWS_SHOWN = 100  # of a list in a notebook; more than anybody reads
CURVES_SHOWN = 20  # of an experiment; more cannot be distinguished


def page_address(http_address: str, address: str) -> str:
    """Returns where a browser here finds the page, "http://host:port"; "": nowhere. `address`: that of the client."""
    if not http_address:
        return ""
    host = urlsplit(f"//{http_address}").hostname or ""
    port = http_address.rpartition(":")[2]
    first = address.split(",")[0]
    peer = "127.0.0.1" if first.startswith("unix:") else urlsplit(f"//{first}").hostname or ""
    if host in _LOOPBACK and peer not in _LOOPBACK:
        return ""  # it listens only there
    if host in _ANY:
        host = peer
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _text(value: Any) -> str:
    if value is None or value == "":
        return "–"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_text(content)}" for name, content in value.items()) or "–"
    return str(value)


def table(rows: Sequence[Mapping[str, Any]], links: Sequence[str]) -> str:
    """Returns rows with the same names as HTML; the first cell of each is a link if there is one."""
    if not rows:
        return "<p>none</p>"
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = ""
    for row, link in zip(rows[:_ROWS_SHOWN], links):
        cells = [html.escape(_text(value)) for value in row.values()]
        if link:
            cells[0] = f'<a href="{html.escape(link)}" target="_blank" rel="noopener">{cells[0]}</a>'
        body += "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    more = f"<p>and {len(rows) - _ROWS_SHOWN:,} more</p>" if len(rows) > _ROWS_SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


class Shown:
    """A result of a client, with its address on the page and its curves. Copies and pickles are plain values."""

    _client: Client | None = None

    def _bound(self, client: Any) -> Any:
        object.__setattr__(self, "_client", client)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: content for name, content in self.__dict__.items() if name != "_client"}

    def _fragment(self) -> str:
        """Its address within the page."""
        raise NotImplementedError

    def _summary(self) -> dict[str, Any]:
        """The cells of its row, by name."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        """Where the coordinator's page shows it; "" if no browser here can reach the page."""
        page = self._client.page if self._client is not None else ""
        return f"{page}/#{self._fragment()}" if page else ""

    def plot(self, metric: str = "", **options: Any) -> Any:
        """Draws it with `Client.plot`."""
        if self._client is None:
            raise DtrainError("this is a copy without a client; use client.plot(…) on it")
        return self._client.plot(self, metric, **options)

    def _repr_html_(self) -> str:
        return table([self._summary()], [self.url])


class Found(list):  # type: ignore[type-arg]
    """A list of results that a notebook shows as a table."""

    def _repr_html_(self) -> str:
        return table([one._summary() for one in self], [one.url for one in self[:_ROWS_SHOWN]])


def draw(curves: Iterable[tuple[str, Sequence[float], Sequence[float]]], metric: str, across: str, logy: bool,
         ax: Any) -> Any:
    """Draws curves of (name, xs, ys) into matplotlib's axes; makes new axes by default."""
    if ax is None:
        try:
            import matplotlib.pyplot as pyplot
        except ImportError as error:
            raise DtrainError("plots need matplotlib, which is not installed; run 'python3 -m pip install matplotlib', "
                              "give axes of your own as ax, or take the numbers of metrics_df") from error
        ax = pyplot.subplots()[1]
    for name, xs, ys in curves:
        # A single evaluation is a point, which a line would not show.
        ax.plot(xs, ys, label=name, marker="o" if len(xs) == 1 else None)
    ax.set_xlabel(across)
    ax.set_ylabel(metric)
    if logy:
        ax.set_yscale("log")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize="small")
    return ax
