"""Methods of a client that send an experiment: submit, validate, plan."""

from __future__ import annotations

import os
import secrets
import time
import warnings
from typing import Any, Mapping

from . import _config, _convert, _from_messages, _limits, _pack, _source
from ._calls import Calls
from .errors import Diagnostic, FileRefusedError, SubmitWarning, UnreachableError, UsageError
from .results import Plan, Submission
from .v1 import control_pb2 as pb
from .v1 import model_pb2


class Submissions(Calls):
    """The part of `Client` that sends experiments."""

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
        """Returns the text of an experiment and the packed folder of its code, if it names one."""
        text = _source.read(experiment)
        folder = _source.code_folder(experiment, text, overrides)
        include = _source.code_include(experiment, text, overrides)
        if folder is not None:
            files = _source.environment_files(experiment, text, overrides)
            for file in files:
                if not os.path.isfile(os.path.join(folder, file)):
                    raise UsageError(f"environment: '{file}' is no file in the folder of code, {folder}; name the "
                                     "environment's file relative to that folder")
            include = [*include, *files]
        packed = _pack.pack_folder(folder, include) if folder is not None else None
        if packed is not None and packed.note:
            warnings.warn(packed.note, SubmitWarning, stacklevel=3)
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
        raise UnreachableError(f"the coordinator did not receive all of the code in {_limits.CODE_ROUNDS} rounds: it "
                               "restarts, or others send too much at once; submit again")

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
        return _from_messages.plan(answer, self._diagnosed(text, answer.diagnostics, 3))

    @staticmethod
    def _diagnosed(text: _source.Text, diagnostics: Any, stacklevel: int) -> list[Diagnostic]:
        """Returns the diagnostics at their places in the file, and warns about each at the caller's line, `stacklevel`
        frames up. Raises FileRefusedError if one is an error."""
        found = [text.place(_convert.diagnostic(one)) for one in diagnostics]
        if errors := [one for one in found if one.severity == "error"]:
            raise FileRefusedError(errors)
        for one in found:
            warnings.warn(str(one), SubmitWarning, stacklevel=stacklevel)
        return found

    def _submitted(self, text: _source.Text, request: pb.SubmitRequest) -> Submission:
        answer = self._connection.call("Submit", request)
        found = self._diagnosed(text, answer.diagnostics, 4)
        if answer.note:
            warnings.warn(answer.note, SubmitWarning, stacklevel=3)
        return _from_messages.submission(answer, found)._bound(self)
