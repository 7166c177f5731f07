"""What tells runs of one identity apart: defaults, sources of plug-ins, and files of the data."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from pllbench.data.catalogue import DATASETS
from pllbench.registry import is_built_in
from pllbench.results.records import AnnotatorFacts, Record
from pllbench.results.sources import Groups, representative
from pllbench.spec import RunSpec

_Version = tuple[str, int, str | None]
"""A method, its version, and its source where that is in the identity of its runs."""


class _Known:
    """The defaults and the sources that runs of one version were made with."""

    def __init__(self) -> None:
        self._defaults: dict[str, list[JsonValue]] = defaultdict(list)
        self._sources: set[str] = set()

    def add(self, defaults: Mapping[str, JsonValue], source: str | None = None) -> None:
        for key, value in defaults.items():
            if value not in self._defaults[key]:
                self._defaults[key].append(value)
        self._sources |= {source} if source else set()

    def differing(self, hparams: Mapping[str, JsonValue], changed: Sequence[str] = ()) -> str:
        """Defaults that not all runs share, such as `, tau=5.0`."""
        return "".join(
            f", {key}={hparams[key]}" if key in hparams else f", no {key}"
            for key, values in self._defaults.items()
            if len(values) > 1 and key not in changed
        )

    def source(self, source: str | None) -> str:
        """The source, where there are several."""
        return f", source {(source or 'unknown')[:8]}" if len(self._sources) > 1 else ""


class Origins:
    """The origins of some records, and of the runs that are asked for.

    All runs of one version of a method should have the same declared defaults, and be of one
    source, or of sources that give the same numbers. Tests guard those of built-in methods. The
    same holds for the annotators of their candidate sets.

    Args:
        records: finished runs.
        specs: runs that are asked for.
        equal: sources that were shown to give the same numbers.
    """

    def __init__(
        self,
        records: Sequence[Record],
        specs: Iterable[RunSpec] = (),
        equal: Groups | None = None,
    ) -> None:
        self._equal = equal or {}
        self._methods: dict[_Version, _Known] = defaultdict(_Known)
        self._annotators: dict[str | None, _Known] = defaultdict(_Known)
        self._digests: dict[str, set[str]] = defaultdict(set)
        for spec in specs:
            self._methods[_version(spec)].add(_defaults(spec))
        for record in records:
            spec, facts = record.spec, record.provenance.annotator
            self._methods[_version(spec)].add(_defaults(spec), self._made_by(record))
            if facts:
                self._annotators[spec.annotator].add(facts.hparams or {}, self._annotated_by(facts))
            if digest := made_on(record):
                self._digests[spec.dataset].add(digest)

    def of_spec(self, spec: RunSpec) -> str:
        """End of a row's label, such as `, tau=5.0`: defaults that not all of its version share."""
        return self._methods[_version(spec)].differing(spec.hparams, spec.changed)

    def of_record(self, record: Record) -> str:
        """As `of_spec`; and its source, its annotator and its data, where there are several."""
        spec, facts = record.spec, record.provenance.annotator
        label = self.of_spec(spec) + self._methods[_version(spec)].source(self._made_by(record))
        if facts:
            known = self._annotators[spec.annotator]
            differing = known.differing(facts.hparams or {})
            differing += known.source(self._annotated_by(facts))
            label += f", annotator: {differing.removeprefix(', ')}" if differing else ""
        if len(self._digests[spec.dataset]) > 1:
            label += f", data {(made_on(record) or 'unknown')[:8]}"
        return label

    def _made_by(self, record: Record) -> str | None:
        """Digest of the run's source, the same one for equal sources.

        None where it makes no difference, or is unknown.
        """
        spec, source = record.spec, record.provenance.method_source
        return None if spec.source else self._first_equal(spec.method, spec.version, source)

    def _annotated_by(self, facts: AnnotatorFacts) -> str | None:
        """The same of its annotator."""
        if facts.method is None or facts.version is None:
            return None
        return self._first_equal(facts.method, facts.version, facts.method_source)

    def _first_equal(self, method: str, version: int, source: str | None) -> str | None:
        if source is None or is_built_in(method):
            return None
        return representative(self._equal, method, version, source)


def _version(spec: RunSpec) -> _Version:
    return spec.method, spec.version, spec.source


def _defaults(spec: RunSpec) -> dict[str, JsonValue]:
    """The hyperparameters that nobody has set."""
    return {key: value for key, value in spec.hparams.items() if key not in spec.changed}


def made_on(record: Record) -> str | None:
    """Digest of the files that a run was made on; None where they have none, or it is unknown.

    Records without a digest are taken to have been made on the known files.
    """
    info = DATASETS.get(record.spec.dataset)
    return record.provenance.data_digest or (info.known_digest if info else None)
