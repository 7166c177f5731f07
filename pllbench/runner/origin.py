"""Where numbers come from beside a run's identity: defaults, source of the method, files of data.

Unfinished work of one origin must not go on under another one.
"""

import hashlib
import json
from pathlib import Path

from pllbench.data.content import files_digest
from pllbench.grid.plan import PlannedRun
from pllbench.registry import load_method
from pllbench.source import source_digest
from pllbench.spec import RunSpec


def origin_id(spec: RunSpec, data_digest: str | None) -> str:
    """The run id, and a digest of all hyperparameters, the method's source and the data's files.

    Args:
        spec: the run.
        data_digest: content digest of the files of its data set, where they have one.
    """
    origin = [spec.hparams, source_digest(load_method(spec.method)), data_digest]
    digest = hashlib.sha256(json.dumps(origin, sort_keys=True).encode()).hexdigest()[:8]
    return f"{spec.run_id}-{digest}"


def run_origin(run: PlannedRun, data_dir: Path) -> str:
    """The `origin_id` that a run has with the files below `data_dir`."""
    return origin_id(run.spec, files_digest(run.data, data_dir))
