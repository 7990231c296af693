"""dtrain: submit grids of training runs to a coordinator, wait for them, and read their results.

>>> import dtrain
>>> client = dtrain.Client()                      # the coordinator that dtctl talks to
>>> submitted = client.submit("grid.yaml")
>>> client.wait(submitted)                        # shows how far it is
>>> client.trials_df(submitted).sort_values("val_loss")
>>> client.metrics_df(submitted, metrics=["loss"]).pivot(index="step", columns="trial", values="loss").plot()

A program that runs as a trial gets the functions of `dtrain.trial` (`parameters`, `report`, `checkpoint`, …) with
`import dtrain` too, from a copy of that one file if this package is not installed.
"""

from ._config import TlsFiles
from ._selector import Selection
from ._study import Study, StudyTrial, TrialPruned
from ._version import __version__
from .client import Client
from .errors import (BusyError, ConflictError, Diagnostic, DtrainError, FileRefusedError, NotAllowedError,
                     NotFoundError, SubmitWarning, UnexpectedError, UnreachableError, UsageError, WaitTimeoutError)
from .results import (Attempt, Checkpoint, Description, Experiment, Explanation, LogLine, Plan, PlannedTrials, Quota,
                      Status, Submission, Takeover, Trial, Value, Worker)
from .trial import checkpoint, parameters, progress, report, resume, resumed_step, rungs, should_stop

__all__ = [
    "Attempt", "BusyError", "Checkpoint", "Client", "ConflictError", "Description", "Diagnostic", "DtrainError",
    "Experiment", "Explanation", "FileRefusedError", "LogLine", "NotAllowedError", "NotFoundError", "Plan",
    "PlannedTrials", "Quota", "Selection", "Status", "Study", "StudyTrial", "Submission", "SubmitWarning", "Takeover",
    "TlsFiles", "Trial", "TrialPruned", "UnexpectedError", "UnreachableError", "UsageError", "Value",
    "WaitTimeoutError", "Worker", "__version__", "checkpoint", "parameters", "progress", "report", "resume",
    "resumed_step", "rungs", "should_stop",
]
