"""What the text of a flag means: names, rates, seeds, settings."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ConfigDict, JsonValue, TypeAdapter, ValidationError

from pllbench.data.custom import is_path
from pllbench.grid.protocol import Setting
from pllbench.results import kept
from pllbench.results.metrics import METRICS, Metric
from pllbench.spec import LARGEST, CandidateSpec, PruningSpec, round_rate, takes_rate
from pllbench.validation import StrictModel, did_you_mean, one_line

_VALUE: TypeAdapter[JsonValue] = TypeAdapter(JsonValue, config=ConfigDict(allow_inf_nan=False))


def require_valid(values: Mapping[str, object], model: type[StrictModel], flag: str) -> None:
    """Raise ValueError, naming the flag, if `values` are no fields of `model` or do not fit them.

    The resolved run is validated again; here the flag is known.
    """
    try:
        model.parse(values)
    except ValidationError as error:
        raise ValueError(one_line(error, flag, model)) from error


def names(texts: Sequence[str] | None, flag: str) -> tuple[str, ...]:
    """The entries of comma-separated lists; repeated ones count once, None is no entry.

    Raises:
        ValueError: an entry is empty.
    """
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    if "" in parts:
        raise ValueError(f"{flag} {','.join(texts or ())}: an entry is empty")
    return tuple(dict.fromkeys(parts))


def paths(texts: Sequence[str] | None) -> tuple[str, ...]:
    """The data sets of --datasets: a path that exists may hold commas.

    Raises:
        ValueError: an entry is empty.
    """
    whole = [text for text in texts or () if is_path(text) and Path(text).exists()]
    listed = names([text for text in texts or () if text not in whole], "--datasets")
    return tuple(dict.fromkeys((*listed, *whole)))


def noise_rate(text: str) -> float:
    """A noise rate.

    Raises:
        ValueError: not a number in [0, 1].
    """
    return round_rate(_number(text, "--q", 0, 1))


def imbalance_ratio(text: str) -> float:
    """A ratio of the largest to the smallest class.

    Raises:
        ValueError: not a number from 1 on.
    """
    return round_rate(_number(text, "--imbalance", 1, LARGEST))


def _number(text: str, flag: str, low: int, high: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise ValueError(f"{flag} {text}: must be a number from {low} to {high}")
    return value


def metric_names(text: str) -> tuple[Metric, ...]:
    """The metrics of --metric.

    Raises:
        ValueError: an unknown one; gives the nearest match.
    """
    given = names([text], "--metric")
    for name in given:
        if name not in METRICS:
            raise ValueError(f"--metric {name}: {did_you_mean(name, METRICS)}")
    return tuple(metric for name in given for metric in METRICS if metric == name)


def kept_kinds(text: str | None) -> tuple[kept.Kept, ...]:
    """What --keep names; nothing for None.

    Raises:
        ValueError: an unknown kind; gives the nearest match.
    """
    return kept.kinds_to_keep(names(None if text is None else [text], "--keep"))


def seeds(text: str) -> tuple[int, ...]:
    """`3` is the seeds 0, 1, 2; `0,1,2` and `7,` are themselves.

    Raises:
        ValueError: not whole numbers from 0, or none.
    """
    parts = [part.strip() for part in text.removesuffix(",").split(",")]
    if not all(re.fullmatch(r"[0-9]{1,100}", part) for part in parts):
        raise ValueError(f"--seeds {text}: must be a number of seeds (3), or seeds (0,1,2 or 7,)")
    numbers = [int(part) for part in parts]
    if "," in text:
        return tuple(dict.fromkeys(numbers))
    if not 1 <= numbers[0] <= 10_000:
        raise ValueError(f"--seeds {text}: a number of seeds is from 1 to 10000; seed 7 is '7,'")
    return tuple(range(numbers[0]))


def key_value(text: str, flag: str) -> tuple[str, JsonValue]:
    """KEY=VALUE; a value is read as TOML (numbers, true, lists), else as text.

    Raises:
        ValueError: there is no key or no value, or the value is a date, NaN or infinite.
    """
    key, equals, value = text.partition("=")
    if not (key.strip() and equals and value.strip()):
        raise ValueError(f"{flag} {text}: must be KEY=VALUE")
    try:
        return key.strip(), _VALUE.validate_python(_as_toml(value))
    except ValidationError as error:
        raise ValueError(f"{flag} {text}: must be a finite number, true, false or text") from error


def _as_toml(value: str) -> object:
    """What a TOML file would hold as this value; the text itself where it is not one value."""
    try:
        found = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):  # also of thousands of digits or brackets
        found = {}
    return found["value"] if found.keys() == {"value"} else value.strip()


def candidate_setting(text: str) -> Setting:
    """PROCESS or PROCESS:key=value,... as a setting.

    Raises:
        ValueError: an unknown process, key or value; or process or q among the keys.
    """
    process, colon, options = text.partition(":")
    listed = names([options] if colon else None, "--candidates")
    values = dict(key_value(part, "--candidates") for part in listed)
    for key, place in (("process", "before the colon"), ("q", "in --q")):
        if key in values:
            raise ValueError(f"--candidates {text}: {key} does not belong there but {place}")
    values["process"] = process
    rate: dict[str, JsonValue] = {"q": 0.5} if takes_rate(values) else {}
    require_valid(values | rate, CandidateSpec, f"--candidates {text}")
    return Setting(reason=f"--candidates {text}", candidates=values)


def annotation_setting(text: str) -> Setting:
    """The rule of --annotations as a setting.

    Raises:
        ValueError: there is no such rule.
    """
    reason = f"--annotations {text}"
    require_valid({"annotations": text}, Setting, reason)
    return Setting(reason=reason, annotations=text)


def pruning_setting(text: str) -> Setting:
    """KEY=VALUE,... of --prune as a setting.

    Raises:
        ValueError: an unknown or missing key, or a value that does not fit.
    """
    reason = f"--prune {text}"
    values = dict(key_value(part, "--prune") for part in names([text], "--prune"))
    require_valid(values, PruningSpec, reason)
    return Setting(reason=reason, pruning=values)
