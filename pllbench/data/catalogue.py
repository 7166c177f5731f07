"""The data sets that the suite knows, by name, as plain facts: no torch, no files.

`dataset` loads them; `pllbench.grid` needs their kind and where their candidate sets come from.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pllbench.spec import Kind, Process
from pllbench.validation import did_you_mean

Split = Literal["random", "stratified", "fixed", "folds"]
"""How test rows are chosen: 20 % at random, 20 % of every class, those that come as such, or a fold
by the seed."""


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """Facts about a data set: one of the catalogue, or a custom one at a path of the user's.

    Attributes:
        name: how --datasets, records and tables call it.
        title: printed in tables.
        kind: decides its views.
        split: how its test rows are chosen.
        real_candidates: its candidate sets come with it; otherwise a process generates them.
        annotated: they come as labels of several annotators, of which a rule makes sets.
        labelled: its true labels are known.
        file: its file below the data directory; None where a library ships it.
        source: where a user finds that file.
        openml: data_id at OpenML, from where a missing file is downloaded; None: it is not.
        torchvision: torchvision's class for it, which reads, checks and downloads `file`.
        noisy: by nature, candidate sets may lack the true label.
        num_classes: C, where the files do not say it.
        pixels: mean and std of the channels, of pixels from 0 to 1, that published codes normalise
            with; None where there are none, and those of the training images serve.
        superclasses: superclass of each class, where classes have any.
        process: generates its candidate sets, where its name means such sets; else None.
        image_size: side in pixels that its images are resized to; None where all have one size.
        first: how many of its training and of its test rows make it up, the first ones of the
            files; None for all.
        parts: names of the files that make it up, in the folder `file` or beside the file `file`;
            empty where `file` is the only one.
        images: the data set whose images it has.
        known_digest: content digest of the files that our numbers were made on; None where a
            library ships them, or we have had none.
        path: file or folder of a custom data set; None for those of the catalogue.
        digest: content digest of a custom data set: part of the identity of runs on it.
        features: file of features of its rows, by which candidate sets are pruned; None for none.
        features_digest: content digest of that file.
    """

    name: str
    title: str
    kind: Kind
    split: Split
    real_candidates: bool
    file: str | None = None
    source: str = ""
    openml: int | None = None
    torchvision: str | None = None
    annotated: bool = False
    labelled: bool = True
    noisy: bool = False
    num_classes: int | None = None
    pixels: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    superclasses: tuple[int, ...] = ()
    process: Process | None = None
    image_size: int | None = None
    first: tuple[int, int] | None = None
    parts: tuple[str, ...] = ()
    images: str | None = None
    known_digest: str | None = None
    path: Path | None = None
    digest: str | None = None
    features: Path | None = None
    features_digest: str | None = None

    @property
    def downloads(self) -> bool:
        """Whether a missing file is downloaded."""
        return self.openml is not None or self.torchvision is not None


_REAL_WORLD = "https://palm.seu.edu.cn/zhangml/Resources.htm#partial_data"


IMAGENET_PIXELS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_HALF = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
_PLCIFAR10 = "https://github.com/wwangwitsel/PLCIFAR10"
_CLIMAGE = "https://github.com/ntucllab/CLImage_Dataset"
_DCIC = "https://zenodo.org/records/8115942"
_CIFAR = "https://www.cs.toronto.edu/~kriz/cifar.html"

CIFAR100_SUPERCLASSES = (
    *(4, 1, 14, 8, 0, 6, 7, 7, 18, 3, 3, 14, 9, 18, 7, 11, 3, 9, 7, 11, 6, 11, 5, 10, 7),
    *(6, 13, 15, 3, 15, 0, 11, 1, 10, 12, 14, 16, 9, 11, 5, 5, 19, 8, 8, 15, 13, 14, 17, 18, 10),
    *(16, 4, 17, 4, 2, 0, 17, 4, 18, 17, 10, 3, 2, 12, 12, 16, 12, 1, 9, 19, 2, 10, 0, 1, 16),
    *(12, 9, 13, 15, 13, 16, 19, 2, 4, 6, 19, 5, 5, 8, 19, 18, 1, 2, 15, 6, 0, 17, 8, 14, 13),
)
"""The `coarse_labels` of CIFAR-100's files, by fine label: 20 superclasses of 5 classes."""

_STREETCAR, _TRANSPORT = 81, 18

CLCIFAR20_CLASSES = tuple(
    _TRANSPORT if fine == _STREETCAR else coarse
    for fine, coarse in enumerate(CIFAR100_SUPERCLASSES)
)
"""The 20 classes of CLCIFAR20 by CIFAR-100's fine label: its authors' list, in which vehicles are
those that transport people and those that do not, so streetcars change sides."""


def _real(name: str, title: str, file: str) -> DatasetInfo:
    path = f"pll_realworld/{file}"
    return DatasetInfo(name, title, "tabular", "random", True, path, _REAL_WORLD)


def _human(name: str, title: str, split: Split, file: str, source: str) -> DatasetInfo:
    facts: dict[str, Any] = {"noisy": True, "pixels": IMAGENET_PIXELS, "images": "cifar10"}
    return DatasetInfo(name, title, "image", split, True, file, source, **facts)


_PARTS_OF = {
    "CIFAR10": (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"),
    "CIFAR100": ("train", "test"),
    "SVHN": ("train_32x32.mat", "test_32x32.mat"),
}
_IDX_FILES = tuple(
    f"{part}-{kind}-ubyte" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")
)
"""Of MNIST and the data sets that have its form."""


def _clcifar(name: str, title: str, num_classes: int) -> DatasetInfo:
    info = _human(name, title, "fixed", f"clcifar/{name}.pkl", _CLIMAGE)
    return replace(info, num_classes=num_classes)


def _dcic(name: str, folder: str, num_classes: int, image_size: int) -> DatasetInfo:
    info = DatasetInfo(
        f"dcic-{name}", f"DCIC {folder}", "image", "folds", True, f"dcic/{folder}", _DCIC
    )
    return replace(info, annotated=True, num_classes=num_classes, image_size=image_size)


def _images(
    name: str, title: str, kind: Kind, file: str, torchvision: str, source: str, **facts: Any
) -> DatasetInfo:
    known: dict[str, Any] = {"num_classes": 10, "pixels": IMAGENET_PIXELS, **facts}
    known["parts"] = _PARTS_OF.get(torchvision, _IDX_FILES)
    return DatasetInfo(
        name, title, kind, "fixed", False, file, source, torchvision=torchvision, **known
    )


_CNAE9 = "https://archive.ics.uci.edu/dataset/233/cnae+9"
_SVHN = "http://ufldl.stanford.edu/housenumbers"
_FASHION = "https://github.com/zalandoresearch/fashion-mnist"
_KMNIST = "http://codh.rois.ac.jp/kmnist/index.html.en"
_CIFAR10H = "https://github.com/jcpeterson/cifar-10h"
_MNIST_PIXELS = (0.1307,), (0.3081,)

_WHOLE = (
    DatasetInfo("digits", "Digits", "tabular", "random", False),
    DatasetInfo(
        "cnae9", "CNAE-9", "text", "stratified", False, "cnae9/CNAE-9.data", _CNAE9, openml=1468
    ),
    _real("birdsong", "BirdSong", "BirdSong.mat"),
    _real("lost", "Lost", "lost.mat"),
    _real("msrcv2", "MSRCv2", "MSRCv2.mat"),
    _real("italian", "Italian", "italian.mat"),
    _real("fg-net", "FG-NET", "FG-NET.mat"),
    _real("mirflickr", "Mirflickr", "Mirflickr.mat"),
    _real("soccer-player", "Soccer Player", "Soccer Player.mat"),
    _real("yahoo-news", "Yahoo! News", "Yahoo! News.mat"),
    _real("malagasy", "Malagasy", "malagasy.mat"),
    _real("english", "English", "english.mat"),
    _images("cifar10", "CIFAR-10", "image", "cifar-10-batches-py", "CIFAR10", _CIFAR),
    _images(
        *("cifar100", "CIFAR-100", "image", "cifar-100-python", "CIFAR100", _CIFAR),
        num_classes=100,
        superclasses=CIFAR100_SUPERCLASSES,
    ),
    _images(
        *("cifar100-h", "CIFAR-100-H", "image", "cifar-100-python", "CIFAR100", _CIFAR),
        num_classes=100,
        superclasses=CIFAR100_SUPERCLASSES,
        process="hierarchical",
    ),
    _images("svhn", "SVHN", "digits", "train_32x32.mat", "SVHN", _SVHN, pixels=_HALF),
    _images(
        *("mnist", "MNIST", "digits", "MNIST/raw", "MNIST", "http://yann.lecun.com/exdb/mnist"),
        pixels=_MNIST_PIXELS,
    ),
    _images(
        *("fashion-mnist", "Fashion-MNIST", "image", "FashionMNIST/raw", "FashionMNIST", _FASHION),
        pixels=_MNIST_PIXELS,
    ),
    _images(
        *("kmnist", "KMNIST", "image", "KMNIST/raw", "KMNIST", _KMNIST), pixels=((0.5,), (0.5,))
    ),
    _human(
        *("cifar10n", "CIFAR-10N", "fixed", "cifar10_human/cifar10n_train_labels.npz"),
        "http://noisylabels.com",
    ),
    _human("cifar10h", "CIFAR-10H", "random", "cifar10_human/cifar10h_test_counts.npz", _CIFAR10H),
    _human(
        *("plcifar10-aggregate", "PLCIFAR10-Aggregate", "fixed", "plcifar10/plcifar10.pkl"),
        _PLCIFAR10,
    ),
    _human(
        *("plcifar10-vaguest", "PLCIFAR10-Vaguest", "fixed", "plcifar10/plcifar10.pkl"),
        _PLCIFAR10,
    ),
    _clcifar("clcifar10", "CLCIFAR10", 10),
    _clcifar("clcifar20", "CLCIFAR20", 20),
    _dcic("benthic", "Benthic", 8, 112),
    _dcic("treeversity1", "Treeversity#1", 6, 224),
    _dcic("treeversity6", "Treeversity#6", 6, 112),
    _dcic("pig", "Pig", 4, 96),
    _dcic("turkey", "Turkey", 3, 192),
    _dcic("micebone", "MiceBone", 3, 112),
    _dcic("plankton", "Plankton", 10, 96),
    _dcic("qualitymri", "QualityMRI", 2, 112),
    _dcic("synthetic", "Synthetic", 6, 224),
    _dcic("cifar10h", "CIFAR10H", 10, 32),
)

_KNOWN_DIGESTS = {
    "cnae9": "fec557bade36db8d",
    "birdsong": "2170d46765a151ac",
    "lost": "42a8cc43e0557808",
    "msrcv2": "948e4d443a545030",
    "italian": "7981fff3efd2df21",
    "fg-net": "5b8d43e40cee007f",
    "cifar10": "42245f5e88fa484c",
    "mnist": "b2d8f5bf39174ee5",
    "cifar10n": "4720ae50190483e5",
    "cifar10h": "6b786e6227659f73",
}
"""Of the files that the records in `results` were made on."""

_known = tuple(replace(info, known_digest=_KNOWN_DIGESTS.get(info.name)) for info in _WHOLE)

# Parts of image sets that a CPU trains on, under names of their own: their numbers never mix with
# those of whole sets. The files mix classes and writers, so the first training images stand for
# all; MNIST's first 5,000 test images are the easier half, as its page says.
_PARTS = tuple(
    replace(
        info, name=f"{info.name}-5k", title=f"{info.title} (5,000 images)", first=(5_000, 1_000)
    )
    for info in _known
    if info.name in ("cifar10", "mnist", "cifar10n")
)

DATASETS: dict[str, DatasetInfo] = {info.name: info for info in (*_known, *_PARTS)}
"""The data sets of the catalogue, by name."""


def dataset_info(name: str) -> DatasetInfo:
    """Facts about a data set.

    Raises:
        ValueError: unknown name; gives the nearest match.
    """
    if name not in DATASETS:
        raise ValueError(f"unknown data set {name!r}: {did_you_mean(name, DATASETS)}")
    return DATASETS[name]
