"""Working directory and environment, which the modules and runs of methods may change."""

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

LIBRARY_VARIABLES = ("CUDA_MODULE_LOADING", "KMP_", "TORCHINDUCTOR_", "TRITON_", "_TORCHINDUCTOR_")
"""Begins of environment variables that torch and scikit-learn set when they are first used."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Those of this process at one moment.

    Attributes:
        folder: the working directory; None if it does not exist any more.
        variables: the environment.
    """

    folder: str | None
    variables: dict[str, str]

    @classmethod
    def capture(cls) -> Self:
        """Those of now."""
        return cls(_working_directory(), dict(os.environ))

    def restore(self) -> list[str]:
        """Put them back; gives the names of what had changed. What libraries set stays."""
        changed = []
        if self.folder is not None and self.folder != _working_directory():
            changed.append("the working directory")
            with suppress(OSError):  # it was removed
                os.chdir(self.folder)
        for key in sorted(os.environ.keys() | self.variables.keys()):
            before = self.variables.get(key)
            if os.environ.get(key) == before:
                continue
            if before is not None:
                os.environ[key] = before
            elif not key.startswith(LIBRARY_VARIABLES):
                del os.environ[key]
            else:
                continue
            changed.append(f"the environment: {key}")
        return changed


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - a string, as os.chdir takes it
    except FileNotFoundError:
        return None
