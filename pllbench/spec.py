"""What one run is: a frozen, fully resolved specification, and its identity.

A `RunSpec` holds every setting that may change a number and nothing else. `run_id` is a hash of
it; device, paths, jobs and checkpoint interval are not part of it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    model_validator,
)

from pllbench.budget import TuningSpec
from pllbench.validation import JsonOptions, StrictModel

CORE_VERSION = 2
"""Bumped whenever trainer, views, loader or candidates change the numbers of a run.

A change of rounding in many methods at once may come with it, in place of their versions.
"""

NetworkName = Literal[
    "linear", "mlp", "lenet", "small_cnn", "resnet18", "wide_resnet28_2", "wide_resnet34_10"
]
Kind = Literal["image", "digits", "text", "tabular"]
"""What a view may do to a row: `digits` are images that must not be flipped or cropped."""
Scaling = Literal["none", "zscore", "tfidf"]
Process = Literal[
    "uniform",
    "uniform-set",
    "pair",
    "hierarchical",
    "controlled",
    "noisy",
    "noisy_flip",
    "noisy_swap",
    "instance",
]
Policy = Literal["force", "free", "resample"]
AugmentPolicy = Literal["extended", "standard25", "svhn"]


def _no_number(value: object) -> object:
    """True is 1 to Python, and so to a Literal."""
    if isinstance(value, (bool, str)):
        return value
    raise ValueError(f"must be true, false or a word, got {value!r}")


Compile = Annotated[Literal[False, True, "step"], BeforeValidator(_no_number)]

LARGEST = 10**9
"""Upper bound of numbers among the settings: no run needs more; float32 and int64 hold it."""

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


class TrainSpec(StrictModel):
    """Train settings: network, optimizer (SGD) and its schedule, length and precision of a run."""

    network: NetworkName = "linear"
    """Encoder before the linear classifier."""
    forward: Literal["separate", "concat", "grouped"] = "separate"
    """Pass the views of a batch one by one, together, or together but for BatchNorm, whose
    statistics are then those of each view, as they are one by one."""
    epochs: int = Field(default=200, ge=1, le=LARGEST)
    """Passes over the training set."""
    batch_size: int = Field(default=64, ge=1, le=LARGEST)
    """Instances a step; the last batch of an epoch may be smaller, none is dropped."""
    lr: float = Field(default=0.1, gt=0, le=LARGEST)
    """Learning rate at epoch 0."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """SGD momentum."""
    weight_decay: float = Field(default=1e-4, ge=0, le=LARGEST)
    """SGD weight decay."""
    schedule: Literal["multistep", "cosine"] = "multistep"
    """multistep: lr / 10 at each milestone; cosine: from lr down to lr / 1000."""
    milestones: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (0.5, 0.75)
    """Shares of the run at which a multistep schedule drops: 100 and 150 of 200 epochs."""
    precision: Literal["float32", "bf16"] = "float32"
    """float32, where the convolutions of a GPU may round to TF32, as is torch's default; bf16:
    networks run under bfloat16 autocast, losses stay float32."""
    channels_last: bool = False
    """Memory format of images inside networks; faster on GPUs with bf16."""
    compile: Compile = False
    """torch.compile: true compiles the encoders, step a method's loss with its gradient."""
    graph: bool = False
    """Replay the steps of an epoch from a CUDA graph; needs a GPU."""


FITTED = TrainSpec(epochs=1)
"""Train settings of every run of a method without gradient, which reads none of them."""


class ViewSpec(StrictModel):
    """View settings: scaling of rows or pixels, and the strength of strong views."""

    scaling: Scaling = "none"
    """Applied after the view, with statistics of the training rows only."""
    tfidf_norm: float = Field(default=6.0, gt=0, le=LARGEST)
    """L2 norm of every TF-IDF row (an all-zero row stays zero)."""
    noise_std: float = Field(default=0.1, ge=0, le=LARGEST)
    """Strong view of tabular rows: sigma of Gaussian noise, in units of the scaled features."""
    token_rate: float = Field(default=0.1, ge=0, le=LARGEST)
    """Strong view of text rows: random tokens added, as a share of the document's length."""
    token_law: Literal["uniform", "unigram"] = "uniform"
    """Law of the added tokens: uniform over the vocabulary, or the corpus's unigram law."""
    normalisation: Literal["published", "training"] = "published"
    """Images: channel statistics of the published codes, or those of the training images."""
    cutout: int = Field(default=16, ge=0, le=LARGEST)
    """Strong view of images: side of the black square, in pixels; 0 for none."""
    autoaugment: AugmentPolicy | Literal["none"] = "extended"
    """Strong view of images: AutoAugment's CIFAR policy (97 or 25 sub-policies) or SVHN's."""


_IMAGE_VIEWS = ("normalisation", "cutout", "autoaugment")

VIEW_OPTIONS: dict[Kind, tuple[str, ...]] = {
    "image": _IMAGE_VIEWS,
    "digits": _IMAGE_VIEWS,
    "text": ("scaling", "tfidf_norm", "token_rate", "token_law"),
    "tabular": ("scaling", "tfidf_norm", "noise_std"),
}
"""Fields of `ViewSpec` that a kind of data may read."""


def unread_settings(
    kind: Kind, train: Mapping[str, object], views: Mapping[str, object]
) -> frozenset[str]:
    """Names of the train and view settings that no run reads on data of a kind.

    Args:
        kind: of the data.
        train: train settings that are not at their declared default, by name.
        views: view settings, likewise.
    """
    unread = ViewSpec.model_fields.keys() - set(VIEW_OPTIONS[kind])
    if kind in ("text", "tabular"):
        unread |= {"channels_last"}
    if views.get("scaling") != "tfidf":
        unread |= {"tfidf_norm"}
    if train.get("schedule") == "cosine":
        unread |= {"milestones"}
    return frozenset(unread)


def round_rate(q: float) -> float:
    """A noise rate as specs hold it: 0.1 + 0.2 is 0.3, and -0.0 is 0.0."""
    return round(q, 10) + 0.0


Rate = Annotated[float, Field(ge=0, le=1), AfterValidator(round_rate)]
Imbalance = Annotated[float, Field(ge=1, le=LARGEST), AfterValidator(round_rate)]
"""Ratio of the largest to the smallest class of a long-tailed training set; 1: rows as they are."""


class CandidateSpec(StrictModel):
    """Candidate settings: the process that turns true labels into candidate sets."""

    process: Process
    """Name of the generating process."""
    q: Rate | None = None
    """Rate at which a wrong label becomes a candidate; None for processes without a rate."""
    policy: Policy = "force"
    """What happens to a row without a wrong candidate: gets one, stays, or is drawn again."""
    sizes: Literal["paper", "code"] = "paper"
    """uniform-set: every set equally likely, or the sizes that its authors' code draws."""
    num_wrong: int = Field(default=1, ge=1, le=LARGEST)
    """controlled: wrong labels of a row that gets any, which happens with probability q."""
    eta: Rate = 0.0
    """noisy processes and hierarchical: probability that the true label is left out."""
    rule: Literal["mean_rate", "max"] = "mean_rate"
    """instance: q times C times the annotator's share of a wrong label, or relative to the top."""
    annotator: str = "supervised-no-augmentation"
    """instance: method or variant that is trained on true labels to be the annotator."""
    annotator_network: NetworkName = "resnet18"
    """instance: network of the annotator; of tables and text, mlp unless another one is named."""
    annotator_epochs: int = Field(default=50, ge=1, le=LARGEST)
    """instance: length of the annotator's run."""

    @property
    def text(self) -> str:
        """The process and its options that differ from their defaults, as --candidates takes it."""
        declared = type(self).model_fields
        options = [
            f"{key}={value:.10g}" if isinstance(value, float) else f"{key}={value}"
            for key in PROCESS_OPTIONS[self.process]
            if (value := getattr(self, key)) != declared[key].default
        ]
        return ":".join(filter(None, (self.process, ",".join(options))))

    @property
    def noisy(self) -> bool:
        """Whether the process may leave the true label out."""
        return self.eta > 0

    @property
    def read(self) -> dict[str, object]:
        """What the process reads: its name, q, and its options, by field."""
        return {key: getattr(self, key) for key in fields_read(self.process)}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for key, default in _foreign_options(self.process):
            if getattr(self, key) != default:
                raise ValueError(f"process {self.process} has no option {key!r}")
        rated = takes_rate({"process": self.process, "rule": self.rule})
        if self.q is None and rated:
            raise ValueError(f"process {self.process} needs a rate q")
        if self.q is not None and not rated:
            raise ValueError(f"process {self.process} takes no rate q")
        if self.policy == "resample" and self.q == 0:
            raise ValueError("policy resample needs q > 0: it draws until a wrong label comes")
        if self.process == "noisy" and (self.eta == 0 or self.policy == "free"):
            raise ValueError("process noisy needs eta > 0, and a policy that leaves no row alone")
        if self.process in ("noisy_flip", "noisy_swap") and self.eta == 0:
            raise ValueError(f"process {self.process} needs eta > 0")
        return self


PROCESS_OPTIONS: dict[Process, tuple[str, ...]] = {
    "uniform": ("policy",),
    "uniform-set": ("sizes",),
    "pair": (),
    "hierarchical": ("eta",),
    "controlled": ("num_wrong",),
    "noisy": ("policy", "eta"),
    "noisy_flip": ("eta",),
    "noisy_swap": ("eta",),
    "instance": ("rule", "annotator", "annotator_network", "annotator_epochs"),
}
"""Fields of `CandidateSpec` that a process reads, besides q."""


def fields_read(process: Process) -> tuple[str, ...]:
    """Names of the fields of `CandidateSpec` that a process reads."""
    return ("process", "q", *PROCESS_OPTIONS[process])


@cache  # every record that is read needs it
def _foreign_options(process: Process) -> tuple[tuple[str, object], ...]:
    """Name and default of every option that a process does not read."""
    fields = CandidateSpec.model_fields.items()
    return tuple((key, field.default) for key, field in fields if key not in fields_read(process))


def takes_rate(options: Mapping[str, object]) -> bool:
    """Whether q means anything to the candidate process that `options` name, by field."""
    process, rule = options.get("process", "uniform"), options.get("rule", "mean_rate")
    return process != "uniform-set" and (process, rule) != ("instance", "max")


class PruningSpec(StrictModel):
    """Pruning settings: how candidates that a row's nearest neighbours rarely have are removed."""

    tau: float = Field(ge=0, le=1)
    """Share of a row's candidates, beyond one, that may go at most."""
    k: int = Field(ge=1, le=LARGEST)
    """Number of neighbours, by cosine similarity."""
    features: str | None = None
    """Content digest of the file of features; None: the rows themselves, columns standardised."""

    @property
    def text(self) -> str:
        """As it is printed."""
        file = f" features={self.features[:8]}" if self.features else ""
        return f"prune tau={self.tau:g} k={self.k}{file}"


def _annotation_rule(rule: str) -> str:
    if not re.fullmatch(r"union|(votes=(?!1$)|top=|draws=)[1-9][0-9]{0,5}", rule):
        raise ValueError(f"rule {rule!r}: must be union, votes=N (from 2), top=K or draws=N")
    return rule


AnnotationRule = Annotated[str, AfterValidator(_annotation_rule)]
"""How labels of several annotators become a candidate set: `union`, `votes=2`, `top=3`, `draws=3`.

`pllbench.candidates.annotations` says what each of them takes.
"""


class RunSpec(StrictModel):
    """One run, fully resolved. Two runs with equal specs give equal results on one machine."""

    method: str
    """Registered name of the method."""
    version: int
    """Version of the method's numbers."""
    source: str | None = Field(default=None, exclude_if=lambda digest: digest is None)
    """Digest of the source of a class that was given without an entry point: a changed one is
    another run. None, and not written, for registered methods, whose version speaks for them."""
    hparams: JsonOptions
    """All hyperparameters."""
    changed: tuple[str, ...] = ()
    """Names of those hyperparameters that differ from their declared defaults."""
    labels: Literal["candidates", "true"] = "candidates"
    """What the method learns from; "true" for supervised references."""
    gradient: bool = Field(default=True, exclude_if=bool)
    """False for methods that are fitted once: they read no train setting. True is not written, so
    that records of all other methods look as they always did."""
    dataset: str
    """Name of the data set."""
    digest: str | None = None
    """Content digest of the user's own data; None for the data sets the suite knows."""
    kind: Kind | None = None
    """Kind of the user's own data; the catalogue has that of the others."""
    candidates: CandidateSpec | None = None
    """None where sets come with the data, or the method learns from true labels."""
    annotations: AnnotationRule | None = None
    """How annotators' labels become sets; None where the data has none."""
    pruning: PruningSpec | None = None
    """Removes candidates before training; None for none."""
    annotator: str | None = None
    """Run id, at seed 0, of the annotator of instance-dependent sets; None for other processes."""
    imbalance: Imbalance = 1.0
    """Training rows are a long-tailed part of the data set's, drawn by the seed of the split."""
    seed: int = Field(ge=0)
    """Seeds initialisation, order and views; split and candidates too, without a data_seed."""
    data_seed: int | None = Field(default=None, ge=0)
    """Seeds split and candidates; the run seed unless given."""
    folds: int | None = Field(default=None, ge=2, le=LARGEST)
    """Of a cross-validation, in which split seeds 0 to folds - 1 test every row once; None for the
    split of the data set."""
    holdout: float = Field(default=0.0, ge=0, lt=1)
    """Share of the training rows kept aside with their candidate sets only."""
    tuning: TuningSpec | None = Field(default=None, exclude_if=lambda found: found is None)
    """How its settings were found, where a search has found them. None is not written, as above."""
    train: TrainSpec = TrainSpec()
    views: ViewSpec = ViewSpec()
    core_version: int = CORE_VERSION
    """Version of the framework's numbers."""

    @model_validator(mode="after")
    def _changed_exist(self) -> Self:
        if missing := set(self.changed) - set(self.hparams):
            raise ValueError(f"changed names {min(missing)!r}, which is no hyperparameter")
        return self

    @model_validator(mode="after")
    def _settings_are_read(self) -> Self:
        """Two ids never stand for one run that differs in what it does not read."""
        if not self.gradient and self.train != FITTED:
            raise ValueError("a method without gradient has no train settings of its own")
        return self

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What makes this run this run: every field that differs from its declared default.

        Fields at their default are left out, so that a new option changes no old id. Versions stay.
        """
        fields = self.model_dump(mode="json", exclude_defaults=True, exclude={"changed"})
        fields["core_version"] = self.core_version
        fields["hparams"] = {name: self.hparams[name] for name in sorted(self.changed)}
        return fields

    @cached_property
    def run_id(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical JSON of `identity`."""
        return hashlib.sha256(_CANONICAL.encode(self.identity).encode()).hexdigest()[:16]

    @property
    def has_oracle(self) -> bool:
        """Whether a hyperparameter `oracle_...` is set, whose value only true labels can give."""
        return any(
            name.startswith("oracle_") and value is not None for name, value in self.hparams.items()
        )

    @property
    def cell(self) -> str:
        """Equal for runs that differ in the seed alone: canonical JSON of the rest of identity."""
        return _CANONICAL.encode({k: v for k, v in self.identity.items() if k != "seed"})

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; the copy has an identity of its own."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("identity", "run_id"):
            vars(copied).pop(name, None)
        return copied

    @property
    def split_seed(self) -> int:
        """Seed of split and candidate sets: the data_seed, or the run seed where there is none."""
        return self.seed if self.data_seed is None else self.data_seed

    @property
    def q(self) -> float | None:
        """Rate of the candidate process; None where there is no process."""
        return self.candidates.q if self.candidates else None
