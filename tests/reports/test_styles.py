"""One look a method, in every figure."""

from dataclasses import replace
from itertools import combinations

from pllbench.reports.aggregate import build_table
from pllbench.reports.styles import LineStyle, assign_looks, style_rows
from tests.factories import PROTOCOL, make_records, one_column

KNOWN = [*PROTOCOL.labels, *PROTOCOL.variants]


def looks_of(*keys: str) -> dict[str, LineStyle]:
    return dict(assign_looks(dict.fromkeys(keys, False)))


def same_look(one: LineStyle, other: LineStyle) -> bool:
    return replace(one, label="") == replace(other, label="")


def test_a_method_looks_the_same_whatever_else_is_drawn() -> None:
    everything = looks_of(*KNOWN, "my-method", "another")
    for key in ("cc", "asyco", "asyco-ce", "my-method"):
        assert looks_of(key)[key] == everything[key]
        assert looks_of("another", key)[key] == everything[key]
    alone = style_rows(build_table(one_column(rc=[90.0, 91.0]), PROTOCOL))
    beside = style_rows(build_table(one_column(cc=[90.0], rc=[90.0], proden=[1.0]), PROTOCOL))
    assert alone["RC"] == beside["RC"]


def test_90_rows_stay_apart() -> None:
    """No two have two of colour, marker and dashes in common with a colour among them."""
    names = [*KNOWN, *(f"plug-in-{i}" for i in range(90 - len(KNOWN)))]
    looks = looks_of(*names)
    for one, other in combinations(looks.values(), 2):
        assert not same_look(one, other)
    known = [looks[name] for name in PROTOCOL.labels]
    assert all(
        one.marker != other.marker
        for one, other in combinations(known, 2)
        if one.colour == other.colour
    )


def test_more_rows_than_looks_are_still_drawn() -> None:
    assert len(looks_of(*(f"plug-in-{i}" for i in range(200)))) == 200


def test_references_are_grey_and_apart() -> None:
    looks = assign_looks({"supervised": True, "supervised-no-augmentation": True, "cc": False})
    first, second, cc = looks.values()
    assert first.colour == second.colour != cc.colour
    assert (first.marker, second.marker) == ("", "")
    assert first.dashes != second.dashes


def test_another_row_of_a_method_has_a_look_of_its_own() -> None:
    records = one_column(cc=[90.0, 91.0]) + make_records([80.0, 81.0], train={"lr": 0.05})
    records += make_records([80.0], dataset="lost", q=None, train={"lr": 0.05})
    styles = style_rows(build_table(records, PROTOCOL))
    assert set(styles) == {"CC", "CC (lr=0.05)"}
    assert not same_look(styles["CC"], styles["CC (lr=0.05)"])
    assert same_look(styles["CC"], looks_of("cc")["cc"])
