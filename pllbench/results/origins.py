"""What tells runs of one identity apart: defaults, sources of plug-ins, and files of the data."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from pllbench.data.catalogue import DATASETS
from pllbench.registry import is_built_in
from pllbench.results.records import Record
from pllbench.results.sources import Groups, representative
from pllbench.spec import RunSpec

_Source = tuple[str, int, str | None]
"""A method, its version, and its source where that is in the identity of its runs."""


def _source(spec: RunSpec) -> _Source:
    return spec.method, spec.version, spec.source


class Origins:
    """The origins of some records, and of the runs that are asked for.

    All runs of one version of a method should have the same declared defaults, and be of one
    source, or of sources that give the same numbers. Tests guard those of built-in methods.

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
        self._defaults: dict[_Source, dict[str, list[JsonValue]]] = {}
        self._sources: dict[_Source, set[str]] = defaultdict(set)
        self._digests: dict[str, set[str]] = defaultdict(set)
        for spec in (*specs, *(record.spec for record in records)):
            found = self._defaults.setdefault(_source(spec), defaultdict(list))
            for key, value in spec.hparams.items():
                if key not in spec.changed and value not in found[key]:
                    found[key].append(value)
        for record in records:
            if source := self._made_by(record):
                self._sources[_source(record.spec)].add(source)
            if digest := made_on(record):
                self._digests[record.spec.dataset].add(digest)

    def of_spec(self, spec: RunSpec) -> str:
        """End of a row's label, such as `, tau=5.0`: defaults that not all of its version share."""
        label = ""
        for key, values in self._defaults[_source(spec)].items():
            if len(values) > 1 and key not in spec.changed:
                label += f", {key}={spec.hparams[key]}" if key in spec.hparams else f", no {key}"
        return label

    def of_record(self, record: Record) -> str:
        """As `of_spec`; and the digests of its source and its data, where there are several."""
        label = self.of_spec(record.spec)
        if len(self._sources[_source(record.spec)]) > 1:
            label += f", source {(self._made_by(record) or 'unknown')[:8]}"
        if len(self._digests[record.spec.dataset]) > 1:
            label += f", data {(made_on(record) or 'unknown')[:8]}"
        return label

    def _made_by(self, record: Record) -> str | None:
        """Digest of the source of a plug-in's run, the same one for equal sources.

        None where it makes no difference, or is unknown.
        """
        spec, source = record.spec, record.provenance.method_source
        if source is None or spec.source is not None or is_built_in(spec.method):
            return None
        return representative(self._equal, spec.method, spec.version, source)


def made_on(record: Record) -> str | None:
    """Digest of the files that a run was made on; None where they have none, or it is unknown.

    Records without a digest are taken to have been made on the known files.
    """
    info = DATASETS.get(record.spec.dataset)
    return record.provenance.data_digest or (info.known_digest if info else None)
