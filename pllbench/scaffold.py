"""The package of a new method: a plug-in that conforms as it is, with its test. Needs no torch."""

import re
from keyword import iskeyword
from pathlib import Path
from string import Template

from pllbench.grid.protocol import default_protocol
from pllbench.registry import method_entries
from pllbench.validation import FieldError, folder_name_problem

_TAKEN = ("batch", "hparams", "method", "problem", "step", "tensor")
"""Names whose class would be called as one that its module imports."""

_PYPROJECT = Template("""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "pll-$dashed"
version = "0.1.0"
description = "$cls, a method of partial-label learning"
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["pllbench"]

[project.optional-dependencies]
dev = ["pytest"]

[project.entry-points."pllbench.methods"]
$name = "$module:$cls"

[tool.hatch.build.targets.wheel]
only-include = ["$module.py"]
""")

_README = Template("""\
# $cls

A method of partial-label learning for [pllbench](https://pypi.org/project/pllbench).

```sh
pip install -e '.[dev]'
pllbench check $name
pytest
pllbench run --methods $name,cc --datasets digits --q 0.3,0.7
pllbench table --methods $name,cc --datasets digits --tests $name
```

`$module.py` is the method. Raise its `version` whenever its numbers change: runs of the former
version keep their own row.
""")

_MODULE = Template('''\
"""$cls: cross entropy with equal weights on all candidates, sharpened.

What stands here is a method that works, to begin with: put your own loss in its place.
Letters in shape comments: B batch, C classes.
"""

import torch
from pllbench.method import Batch, Hparams, Method, Problem, Step
from torch import Tensor


class ${cls}Hparams(Hparams):
    """Hyperparameters of $cls."""

    sharpness: float = 1.0
    """Factor on the logits."""


class $cls(Method[${cls}Hparams]):
    """One network and one weak view; all state is parameters and buffers."""

    hparams_type = ${cls}Hparams
    version = 1

    def __init__(self, problem: Problem, hparams: ${cls}Hparams) -> None:
        super().__init__(problem, hparams)
        self.network = problem.make_network()

    def loss(self, batch: Batch) -> Step:
        """Mean over the batch of the mean cross entropy of a row's candidates."""
        log_probs = self.predict(batch.x[0]).log_softmax(1)  # [B, C]
        weights = batch.candidates / batch.candidates.sum(1, keepdim=True)  # [B, C]
        loss = -(weights * log_probs).sum(1).mean()
        inside = log_probs.detach().masked_fill(~batch.candidates, -torch.inf)
        return Step(loss, pseudo=inside.argmax(1))

    def predict(self, x: Tensor) -> Tensor:
        """Scores [B, C] of plain rows."""
        logits: Tensor = self.network(x)[0]
        return logits * self.hparams.sharpness
''')

_TEST = Template('''\
"""$cls satisfies what pllbench asks of every method."""

import pytest
from pllbench.testing import Check, method_checks

from $module import $cls


@pytest.mark.parametrize("check", method_checks($cls), ids=str)
def test_conformance(check: Check) -> None:
    check.run()
''')


def write_plugin(name: str, directory: Path) -> Path:
    """Write the package of a method into the new folder `pll-<name>` of `directory`.

    Args:
        name: of the method, as `--methods` takes it.
        directory: where the folder is put.

    Returns:
        The folder.

    Raises:
        ValueError: the name is none, or is taken; or the folder is there already.
        OSError: it cannot be written.
    """
    _require_name(name)
    dashed, module = name.replace("_", "-"), f"pll_{name}"
    cls = _class_name(name)
    folder = directory / f"pll-{dashed}"
    if folder.exists():
        raise FieldError("directory", "is there already: name another one", folder)
    words = {"name": name, "dashed": dashed, "module": module, "cls": cls}
    texts = {
        "pyproject.toml": _PYPROJECT,
        "README.md": _README,
        f"{module}.py": _MODULE,
        f"tests/test_{name}.py": _TEST,
    }
    (folder / "tests").mkdir(parents=True)
    for path, template in texts.items():
        (folder / path).write_text(template.substitute(words), "utf-8")
    return folder


def _class_name(name: str) -> str:
    """What the class of a method is called."""
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _require_name(name: str) -> None:
    """Raise ValueError if no new method can have this name."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or len(name) > 60:
        form = "small letters, digits and single '_' between them, a letter first, at most 60"
        raise ValueError(f"method {name[:80]!r}: its name must be {form}")
    if problem := folder_name_problem(name):
        raise ValueError(f"method {name!r}: {problem}")
    if name in _TAKEN:
        raise ValueError(f"method {name!r}: its class would be called as one of pllbench's")
    if iskeyword(_class_name(name)):
        raise ValueError(f"method {name!r}: its class would be called as a word of Python")
    protocol = default_protocol()
    if name in method_entries() or name in protocol.variants:
        raise ValueError(f"method {name!r}: is there already: choose another name")
