"""Converts messages to plain values. NaN and infinities become None, and so does an unknown value."""

from __future__ import annotations

import datetime
import math
from typing import Any

from google.protobuf.message import Message

from . import results
from .errors import Diagnostic
from .v1 import control_pb2, model_pb2

_PREFIXES = ("TRIAL_", "EXPERIMENT_", "CAUSE_")


def word(enum: Any, number: int) -> str | None:
    """Returns "running" for TRIAL_RUNNING; None if unspecified, the number as text if this client is older."""
    if number == 0:
        return None
    if number not in enum.values():
        return str(number)
    name: str = enum.Name(number)
    prefix = next((one for one in _PREFIXES if name.startswith(one)), "")
    return name[len(prefix):].lower()


def number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def unless_zero(value: Any) -> Any:
    return value or None


def unless_negative(value: float) -> float | None:
    return None if value < 0 else number(value)


def time(wall_ms: int) -> datetime.datetime | None:
    return datetime.datetime.fromtimestamp(wall_ms / 1000, datetime.timezone.utc) if wall_ms else None


def value(message: model_pb2.Value) -> results.Value:
    kind = message.WhichOneof("kind")
    if kind is None:
        return None
    return list(message.numbers.values) if kind == "numbers" else getattr(message, kind)


def assignments(messages: Any) -> dict[str, results.Value]:
    return {one.path: value(one.value) for one in messages}


def labels(messages: Any) -> dict[str, str]:
    return {one.key: one.value for one in messages}


def diagnostic(message: control_pb2.Diagnostic) -> Diagnostic:
    return Diagnostic(message.severity, message.file, unless_zero(message.line), unless_zero(message.column),
                      message.path, message.code, message.message, message.hint, message.source_line)


def submission(message: control_pb2.SubmitResponse, warnings: list[Diagnostic]) -> results.Submission:
    return results.Submission(message.experiment, message.trials, message.device, message.note,
                              message.cannot_be_placed, warnings,
                              [assignments(one.assignments) for one in message.expanded])


def plan(message: control_pb2.PlanResponse, warnings: list[Diagnostic]) -> results.Plan:
    kinds = [results.PlannedTrials(
        one.first, one.trials, assignments(one.assignments), one.slots, unless_zero(one.memory_bytes),
        unless_zero(one.device_bytes), unless_zero(one.target_steps), unless_negative(one.seconds),
        one.estimated_from, one.fits, one.lacks) for one in message.configurations]
    return results.Plan(
        message.trials, message.device, kinds, message.slots_connected, message.slots_free, message.waiting_before,
        unless_negative(message.slot_seconds), unless_negative(message.finish_seconds), list(message.notes), warnings)


def experiment(message: control_pb2.ExperimentSummary) -> results.Experiment:
    return results.Experiment(
        experiment=message.experiment, name=message.name,
        state=word(model_pb2.ExperimentState, message.state) or "",
        trials=message.trials, pending=message.pending, running=message.running, finished=message.finished,
        failed=message.failed, cancelled=message.cancelled, oom=message.oom, progress_ratio=message.progress_ratio,
        eta_seconds=unless_negative(message.eta_seconds), metric=message.metric, goal=message.goal,
        best_trial=unless_zero(message.best_trial),
        best_value=number(message.best_value) if message.best_trial else None, labels=labels(message.labels),
        submitted_at=time(message.submitted_wall_ms), ended_at=time(message.ended_wall_ms),
        submitted_by=message.submitted_by, note=message.note, paused=message.paused, archived=message.archived,
        paused_why=message.paused_why, waiting=message.waiting)


def _checkpoint(message: model_pb2.CheckpointRef, of: Any, attempt: int | None,
                seen_by: list[str]) -> results.Checkpoint:
    return results.Checkpoint(of.experiment, of.trial, attempt, message.step, message.path, message.bytes,
                              number(message.loss), message.best, message.storage_id, message.manifest_hash, seen_by)


def checkpoint(message: control_pb2.CheckpointSummary) -> results.Checkpoint:
    return _checkpoint(message.checkpoint, message, message.attempt, list(message.seen_by))


def trial(message: control_pb2.TrialSummary) -> results.Trial:
    last = (_checkpoint(message.last_checkpoint, message, None, []) if message.HasField("last_checkpoint") else None)
    return results.Trial(
        experiment=message.experiment, trial=message.trial, state=word(model_pb2.TrialState, message.state) or "",
        cause=word(model_pb2.Cause, message.cause), message=message.message, waiting=message.waiting,
        hint=message.hint, parameters=assignments(message.assignments), attempts=message.attempts, step=message.step,
        target_steps=unless_zero(message.target_steps),
        loss=number(message.latest.loss) if message.HasField("latest") else None, val_loss=number(message.val_loss),
        best_val_loss=number(message.best_val_loss), best_val_step=unless_zero(message.best_val_step),
        metric_value=number(message.metric_value), metric_step=unless_zero(message.metric_step),
        metric_newest=number(message.metric_newest) if message.HasField("metric_newest") else None,
        world_size=message.world_size, workers=list(message.workers), device=message.device, seed=message.seed,
        tokens_per_second=unless_zero(message.tokens_per_second),
        eta_seconds=unless_negative(message.eta_seconds), comm_ratio=number(message.comm_ratio),
        comm_exposed_ratio=number(message.comm_exposed_ratio), tokens_per_step=unless_zero(message.tokens_per_step),
        train_tokens=unless_zero(message.train_tokens), model_parameters=unless_zero(message.model_parameters),
        data_fingerprint=message.data_fingerprint, provenance=fields(message.provenance), last_checkpoint=last,
        started_at=time(message.started_wall_ms), ended_at=time(message.ended_wall_ms),
        training_seconds=message.training_seconds if message.HasField("training_seconds") else None)


def attempt(message: control_pb2.AttemptSummary) -> results.Attempt:
    return results.Attempt(
        attempt=message.attempt, workers=[one.worker for one in message.members],
        started_at=time(message.started_wall_ms), running_at=time(message.running_wall_ms),
        ended_at=time(message.ended_wall_ms), resumed_step=message.resumed_step, last_step=message.last_step,
        cause=word(model_pb2.Cause, message.cause), message=message.message, reason=message.reason,
        rank=None if message.rank < 0 else message.rank)


def takeover(message: control_pb2.Takeover) -> results.Takeover:
    return results.Takeover(
        attempt=message.attempt, share=message.share, step=message.step, from_trial=message.from_trial,
        taken=assignments(message.taken), now=assignments(message.now), reason=message.reason)


def explanation(message: control_pb2.ExplainTrialResponse) -> results.Explanation:
    return results.Explanation(
        trial(message.trial), message.explanation, [attempt(one) for one in message.attempts],
        [takeover(one) for one in message.takeovers])


def fields(message: Any) -> dict[str, Any]:
    """Returns every single field by its name, also those with their default; messages within as dicts."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        content = getattr(message, field.name)
        if field.message_type is None:
            single = isinstance(content, (str, bytes, bool, int, float))
            found[field.name] = content if single else list(content)
        elif isinstance(content, Message):
            found[field.name] = fields(content)
        elif field.message_type.name == "Label":
            found[field.name] = labels(content)
        else:
            found[field.name] = [fields(one) for one in content]
    return found


def swept(message: model_pb2.Parameter) -> list[results.Value] | dict[str, results.Value]:
    """Returns the values of a parameter, or the range that they are drawn from."""
    if not message.HasField("range"):
        return [value(one) for one in message.values]
    of = message.range
    found: dict[str, results.Value] = {"min": of.min, "max": of.max, "scale": of.scale or "linear"}
    return {**found, "step": of.step} if of.step else found


# Sections without a meaning for a program, though the message has fields for them.
_OF_MODELS = ("data", "model", "train", "optimizer", "schedule", "precision", "parallel", "eval", "logging")


def configuration(base: model_pb2.Spec) -> dict[str, Any]:
    """Returns the fields of trials, without those that have no meaning for a program."""
    found = fields(base)
    if base.command or base.run:
        found = {name: content for name, content in found.items() if name not in _OF_MODELS}
        found["checkpoint"].pop("every", None)
        found["stop"].pop("nonfinite", None)
    return found


def description(message: control_pb2.GetExperimentResponse) -> results.Description:
    return results.Description(
        experiment=experiment(message.summary), file_name=message.file_name, file_text=message.file_text,
        parameters={one.path: swept(one) for one in message.spec.parameters},
        configuration={**configuration(message.spec.base), "search": fields(message.spec.search)})


def worker(message: control_pb2.WorkerSummary) -> results.Worker:
    return results.Worker(message.worker, message.host, message.device, message.device_name, message.state,
                          message.doing, message.silence_seconds, message.program_version, message.storage_id,
                          message.peer, labels(message.labels), message.mark, message.gpu_uuid)


def quota(message: control_pb2.QuotaSummary) -> results.Quota:
    return results.Quota(message.user, message.label, message.slots, message.held, message.set_by)


def log_lines(message: control_pb2.LogLineChunk) -> list[results.LogLine]:
    log = message.log
    texts = log.text.split("\n")
    if texts and not texts[-1]:
        texts.pop()
    lines = [results.LogLine(message.attempt, log.rank, time(log.wall_time_ms), text) for text in texts]
    if log.dropped_lines:
        last = lines.pop() if lines else results.LogLine(message.attempt, log.rank, time(log.wall_time_ms), "")
        lines.append(results.LogLine(last.attempt, last.rank, last.time, last.text, log.dropped_lines))
    return lines


def status(message: control_pb2.GetStatusResponse) -> results.Status:
    return results.Status(message.program_version, message.program_revision, f"{message.journal_id:016x}",
                          message.http_address, time(message.started_wall_ms), message.experiments, message.workers)
