"""Generates the client's results from the messages: dtrain/results.py, plain values, and dtrain/_from_messages.py,
which makes them. make_wheel.py calls it.

A field's type, its conversion and its description follow from its descriptor and its comment in proto/. Below stand
the public names and their order; tests/python/public_api.golden holds all that comes of it.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from descriptors import Field, Message

_WIDTH = 120
# "0: not known yet" in a comment: this value is None here.
_NONE = re.compile(r"(?:(?<=^)|(?<=; )|(?<=\. ))(0|negative|NaN|[Aa]bsent|-1): ")


@dataclass(frozen=True)
class Own:
    """A field that does not follow from a field of the message."""

    type: str
    expression: str
    doc: str = ""


@dataclass(frozen=True)
class Result:
    """A public class. `fields` are names of the message's fields in order: PATH, PATH>NAME, and =DEFAULT behind it."""

    name: str
    message: str
    fields: str
    base: str = ""
    doc: str = ""
    """The description; empty: the message's comment."""
    more: str = ""
    """Follows the description."""
    argument: str = ""
    """A further argument of the function that makes it."""
    own: dict[str, Own] = field(default_factory=dict)

    @property
    def function(self) -> str:
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower()


_WARNINGS = Own("list[Diagnostic]", "warnings", "Settings that are allowed but hardly intended.")

RESULTS = [
    Result("Submission", "SubmitResponse", "experiment trials device note cannot_be_placed warnings parameters",
           base="SubmissionMethods", more="`Client.submit` and `Client.validate` return it.",
           argument="warnings: list[Diagnostic]", own={
               "warnings": _WARNINGS,
               "parameters": Own("list[dict[str, Value]]", "[assignments(one.assignments) for one in message.expanded]",
                                 "From `validate`: the parameters of the first hundred trials.")}),
    Result("PlannedTrials", "PlannedTrials", """first trials assignments>parameters slots memory_bytes device_bytes
           target_steps seconds estimated_from fits lacks"""),
    Result("Plan", "PlanResponse", """trials device configurations slots_connected slots_free waiting_before
           slot_seconds finish_seconds notes warnings""",
           base="PlanMethods", more="`Client.plan` returns it.", argument="warnings: list[Diagnostic]",
           own={"warnings": _WARNINGS}),
    Result("Experiment", "ExperimentSummary", """experiment name state trials pending running finished failed cancelled
           oom progress_ratio eta_seconds metric goal best_trial best_value labels submitted_wall_ms ended_wall_ms
           submitted_by note paused archived paused_why="" waiting=""
           metrics=() goals=() pareto_trials=() constraints=() infeasible=0""",
           base="ExperimentMethods", more='>>> client.experiment("last").progress_ratio\n0.45',
           own={"best_value": Own("float | None", "number(message.best_value) if message.best_trial else None"),
                "metrics": Own("tuple[str, ...]", "tuple(message.metrics)",
                               "Several objectives; empty: trials are compared by `metric` alone."),
                "goals": Own("tuple[str, ...]", "tuple(message.goals)", "minimize or maximize, for each of `metrics`."),
                "pareto_trials": Own("tuple[int, ...]", "tuple(message.pareto_trials)",
                                     "Numbers of the finished trials on the Pareto front of `metrics`."),
                "constraints": Own("tuple[str, ...]", "tuple(message.constraints)", "As the file has them.")}),
    Result("Checkpoint", "CheckpointSummary", """experiment trial attempt checkpoint.step checkpoint.path
           checkpoint.bytes checkpoint.loss checkpoint.best checkpoint.storage_id checkpoint.manifest_hash seen_by""",
           own={"attempt": Own("int | None", "message.attempt or None",
                               "None in `Trial.last_checkpoint`, where it is unknown.")}),
    Result("Trial", "TrialSummary", """experiment trial state cause message waiting hint assignments>parameters attempts
           step target_steps loss val_loss best_val_loss best_val_step metric_value metric_step metric_newest world_size
           workers device seed tokens_per_second eta_seconds comm_ratio comm_exposed_ratio tokens_per_step train_tokens
           model_parameters data_fingerprint provenance last_checkpoint started_wall_ms ended_wall_ms
           training_seconds=None objectives=() pareto=False infeasible="" """,
           base="TrialMethods",
           more=""">>> client.trial("12/3").parameters\n{'optimizer.lr': 0.001, 'train.batch_size': 8}""",
           own={"loss": Own("float | None", 'number(message.latest.loss) if message.HasField("latest") else None',
                            "From the newest logged step; None: no step is known."),
                "objectives": Own("tuple[float | None, ...]", "tuple(number(one) for one in message.objectives)",
                                  "The value of each of the experiment's `metrics`; empty: it has one metric."),
                "last_checkpoint": Own("Checkpoint | None", "last_checkpoint(message)",
                                       "Its newest checkpoint; None: no checkpoint yet.")}),
    Result("Attempt", "AttemptSummary", """attempt workers started_wall_ms running_wall_ms ended_wall_ms resumed_step
           last_step cause message reason rank""",
           own={"workers": Own("list[str]", "[one.worker for one in message.members]", "The members, by rank.")}),
    Result("Takeover", "Takeover", "attempt share step from_trial taken now reason"),
    Result("Explanation", "ExplainTrialResponse", "trial explanation attempts takeovers"),
    Result("Description", "GetExperimentResponse", "summary>experiment file_name file_text parameters configuration",
           own={"parameters": Own("dict[str, list[Value] | dict[str, Value]]",
                                  "{one.path: swept(one) for one in message.spec.parameters}",
                                  "The swept parameters by path: values, or the range that they are drawn from "
                                  "(min, max, scale, step; mean and std, or median and factor, of normal draws)."),
                "configuration": Own("Mapping[str, Any]",
                                     '{**configuration(message.spec.base), "search": fields(message.spec.search)}',
                                     'Sections and fields as in the file, with defaults: ``["optimizer"]["lr"]``.')}),
    Result("Worker", "WorkerSummary", """worker host device device_name state doing silence_seconds program_version
           storage_id peer labels mark gpu_uuid="" """),
    Result("Quota", "QuotaSummary", "user label slots held set_by"),
    Result("LogLine", "LogLineChunk", "attempt log.rank log.wall_time_ms log.text log.dropped_lines=0",
           doc="A line of a trainer's output."),
    Result("Status", "GetStatusResponse", """program_version program_revision journal_id http_address started_wall_ms
           experiments workers"""),
]
_BY_MESSAGE = {one.message: one for one in RESULTS}

_RESULTS_HEAD = '''"""The coordinator's data as plain values: experiments, trials, checkpoints, workers.

States and causes are words ("running", "oom"), times are datetimes in UTC, and None stands for unknown.
Generated from proto/dtrain/v1 by python/make_results.py.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any, Mapping, Union

from ._result_methods import ExperimentMethods, PlanMethods, SubmissionMethods, TrialMethods
from .errors import Diagnostic

# A parameter's value, as in the experiment file.
Value = Union[int, float, str, bool, "list[float]", None]
'''

_FUNCTIONS_HEAD = '''"""Makes results from messages. Generated from proto/dtrain/v1 by python/make_results.py."""

from __future__ import annotations

from . import results
from ._convert import (assignments, configuration, fields, labels, number, swept, time, unless_negative, word)
from .errors import Diagnostic
from .v1 import control_pb2, model_pb2


def last_checkpoint(message: control_pb2.TrialSummary) -> results.Checkpoint | None:
    if not message.HasField("last_checkpoint"):
        return None
    return checkpoint(control_pb2.CheckpointSummary(
        experiment=message.experiment, trial=message.trial, checkpoint=message.last_checkpoint))
'''


@dataclass(frozen=True)
class _Made:
    """A field of a result: its code."""

    name: str
    type: str
    expression: str
    doc: str
    default: str


def _public_name(path: str) -> str:
    name = path.rpartition(".")[2]
    return re.sub(r"_wall_ms$", "_at", name).replace("wall_time_ms", "time")


def _of_message(one: Field, access: str) -> tuple[str, str]:
    """Returns the type and the expression of a field that is a message, or several."""
    if one.type_name == "Label":
        return "dict[str, str]", f"labels({access})"
    if one.type_name == "Assignment":
        return "dict[str, Value]", f"assignments({access})"
    if one.type_name not in _BY_MESSAGE:
        return "dict[str, Any]", f"fields({access})"
    result = _BY_MESSAGE[one.type_name]
    if one.repeated:
        return f"list[{result.name}]", f"[{result.function}(one) for one in {access}]"
    return result.name, f"{result.function}({access})"


def _of_scalar(one: Field, access: str, none: str) -> tuple[str, str]:
    """Returns the type and the expression of a single value, of which `none` stands for None."""
    if one.kind == "fixed64":
        return "str", f'f"{{{access}:016x}}"'
    if not none:
        return one.kind, access
    kind = f"{one.kind} | None"
    if none == "0":
        return kind, f"{access} or None"
    if none == "-1":
        return kind, f"None if {access} < 0 else {access}"
    if none == "negative":
        return kind, f"unless_negative({access})"
    if none == "NaN":
        return kind, f"number({access})"
    return kind, f'number({access}) if message.HasField("{one.name}") else None'


def _converted(one: Field, path: str, none: str) -> tuple[str, str]:
    access = f"message.{path}"
    if one.name.endswith(("wall_ms", "wall_time_ms")):
        return "datetime.datetime | None", f"time({access})"
    if one.kind == "enum":
        call = f"word(model_pb2.{one.type_name}, {access})"
        return ("str | None", call) if none else ("str", f'{call} or ""')
    if one.kind == "message":
        return _of_message(one, access)
    if one.repeated:
        return f"list[{one.kind}]", f"list({access})"
    return _of_scalar(one, access, none)


def _sentence(comment: str) -> str:
    """Returns a comment as a description: it begins with a capital letter, ends with a full stop, and names None."""
    text = _NONE.sub("None: ", comment)
    return text and text[0].upper() + text[1:] + ("" if text.endswith((".", "…")) else ".")


def _found(messages: dict[str, Message], message: str, path: str) -> Field:
    at, _, rest = path.partition(".")
    if at not in messages[message].fields:
        raise SystemExit(f"make_results.py: {message} has no field '{at}'; correct RESULTS, or write it in `own`")
    one = messages[message].fields[at]
    return _found(messages, one.type_name, rest) if rest else one


def _made(messages: dict[str, Message], result: Result) -> list[_Made]:
    made = []
    for word in result.fields.split():
        path, _, default = word.partition("=")
        path, _, name = path.partition(">")
        name = name or _public_name(path)
        if name in result.own:
            own = result.own[name]
            doc = own.doc
            kind, expression = own.type, own.expression
        else:
            one = _found(messages, result.message, path)
            none = _NONE.search(one.comment)
            kind, expression = _converted(one, path, none[1] if none else "")
            doc = _sentence(one.comment)
        made.append(_Made(name, kind, expression, doc, default))
    return made


def _docstring(text: str) -> str:
    """Returns an indented docstring of a paragraph, or of several between empty lines."""
    paragraphs = [one if one.startswith(">>>") else textwrap.fill(one, _WIDTH - 8) for one in text.split("\n\n")]
    body = "\n\n".join(paragraphs)
    end = "\n" if "\n\n" in body else ""
    quoted = '"""' + body.replace("\\", "\\\\") + end + '"""'
    return textwrap.indent(quoted if not body.endswith('"') else f'"""{body}\n"""', "    ")


def _class(messages: dict[str, Message], result: Result) -> str:
    doc = result.doc or _sentence(messages[result.message].comment)
    if result.more:
        doc += ("\n\n" if result.more.startswith(">>>") else " ") + result.more
    lines = ["@dataclass(frozen=True)", f"class {result.name}{f'({result.base})' if result.base else ''}:",
             _docstring(doc), ""]
    for one in _made(messages, result):
        lines.append(f"    {one.name}: {one.type}{f' = {one.default}' if one.default else ''}")
        if one.doc:
            lines.append(_docstring(one.doc))
    return "\n".join(lines) + "\n"


def _function(messages: dict[str, Message], result: Result) -> str:
    more = f", {result.argument}" if result.argument else ""
    lines = [f"def {result.function}(message: control_pb2.{result.message}{more}) -> results.{result.name}:",
             f"    return results.{result.name}("]
    lines += [f"        {one.name}={one.expression}," for one in _made(messages, result)]
    return "\n".join(lines)[:-1] + ")\n"


def generate(messages: dict[str, Message]) -> dict[str, bytes]:
    """Returns the generated files by their names."""
    classes = [_RESULTS_HEAD] + [_class(messages, one) for one in RESULTS]
    functions = [_FUNCTIONS_HEAD] + [_function(messages, one) for one in RESULTS]
    return {"dtrain/results.py": "\n\n".join(classes).encode(),
            "dtrain/_from_messages.py": "\n\n".join(functions).encode()}
