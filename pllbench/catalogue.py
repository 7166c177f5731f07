"""The data sets that the suite knows, by name, as plain facts: no torch, no files.

`datasets.py` loads them; `grid.py` needs their kind and where their candidate sets come from.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["image", "digits", "text", "tabular"]
"""What a view may do to a row: `digits` are images that must not be flipped or cropped."""

Split = Literal["random", "stratified"]
"""How test rows are chosen: 20 % at random, or 20 % of every class."""


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Facts about a data set.

    Attributes:
        title: printed in tables.
        kind: decides its views.
        split: how its test rows are chosen.
        real_candidates: its candidate sets come with it; otherwise a process generates them.
        file: its file below the data directory; None where a library ships it.
        source: where a user finds that file.
        openml: data_id at OpenML, from where a missing file is downloaded; None: it is not.
    """

    title: str
    kind: Kind
    split: Split
    real_candidates: bool
    file: str | None = None
    source: str = ""
    openml: int | None = None


_REAL_WORLD = "https://palm.seu.edu.cn/zhangml/Resources.htm#partial_data"


def _real(title: str, file: str) -> DatasetInfo:
    return DatasetInfo(title, "tabular", "random", True, f"pll_realworld/{file}", _REAL_WORLD)


DATASETS: dict[str, DatasetInfo] = {
    "digits": DatasetInfo("Digits", "tabular", "random", False),
    "cnae9": DatasetInfo(
        "CNAE-9",
        "text",
        "stratified",
        False,
        "cnae9/CNAE-9.data",
        "https://archive.ics.uci.edu/dataset/233/cnae+9",
        openml=1468,
    ),
    "birdsong": _real("BirdSong", "BirdSong.mat"),
    "lost": _real("Lost", "lost.mat"),
    "msrcv2": _real("MSRCv2", "MSRCv2.mat"),
    "italian": _real("Italian", "italian.mat"),
    "fg-net": _real("FG-NET", "FG-NET.mat"),
    "mirflickr": _real("Mirflickr", "Mirflickr.mat"),
    "soccer-player": _real("Soccer Player", "Soccer Player.mat"),
    "yahoo-news": _real("Yahoo! News", "Yahoo! News.mat"),
    "malagasy": _real("Malagasy", "malagasy.mat"),
    "english": _real("English", "english.mat"),
}
