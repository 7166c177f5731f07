"""Sources of methods that were shown to give the same numbers."""

import json
from pathlib import Path

import pytest

from pllbench.results.sources import equal_sources, join_sources


def test_a_source_equals_itself_alone_at_first(tmp_path: Path) -> None:
    assert equal_sources(tmp_path, "mine", 1, "a") == {"a"}


def test_equality_is_kept_and_passed_on(tmp_path: Path) -> None:
    join_sources(tmp_path, "mine", 1, "a", "b")
    join_sources(tmp_path, "mine", 1, "c", "d")
    assert equal_sources(tmp_path, "mine", 1, "b") == {"a", "b"}
    assert equal_sources(tmp_path, "mine", 1, "d") == {"c", "d"}
    join_sources(tmp_path, "mine", 1, "d", "a")
    assert equal_sources(tmp_path, "mine", 1, "b") == {"a", "b", "c", "d"}
    content = json.loads((tmp_path / "sources.json").read_text())
    assert content == {"mine": {"1": [["a", "b", "c", "d"]]}}


def test_methods_and_versions_are_apart(tmp_path: Path) -> None:
    join_sources(tmp_path, "mine", 1, "a", "b")
    assert equal_sources(tmp_path, "mine", 2, "a") == {"a"}
    assert equal_sources(tmp_path, "other", 1, "a") == {"a"}


@pytest.mark.parametrize("text", ["", "[]", '{"mine": 1}', '{"mine": {"1": [1]}}', "\x00"])
def test_a_damaged_file_is_named_and_kept(tmp_path: Path, text: str) -> None:
    (tmp_path / "sources.json").write_text(text)
    with pytest.raises(ValueError, match=r"sources\.json: "):
        equal_sources(tmp_path, "mine", 1, "a")
    with pytest.raises(ValueError, match=r"sources\.json: "):
        join_sources(tmp_path, "mine", 1, "a", "b")
    assert (tmp_path / "sources.json").read_text() == text
