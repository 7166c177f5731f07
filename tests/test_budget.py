"""What a search was given, in words; and what it may not be given."""

import pytest
from pydantic import ValidationError

from pllbench.budget import Budget, Judging, TuningRequest, TuningSpec


def test_words_leave_out_what_is_as_always_but_for_criterion_and_seeds() -> None:
    plain = Budget(trials=(20,), space="3f2a91bc")
    assert plain.words == "20 trials, covering_rate, seeds 100, space 3f2a91bc"
    special = Budget(
        trials=(20, 10),
        criterion="approximated_accuracy",
        seeds=(100, 101),
        holdout=0.2,
        halving=1,
        space="3f2a91bc",
    )
    assert special.words == (
        "20+10 trials, approximated_accuracy, seeds 100+101, holdout=0.2, halving=1, space 3f2a91bc"
    )
    assert TuningSpec(budget=plain, own_space="77aa01ce").words == f"tuned: {plain.words}/77aa01ce"


@pytest.mark.parametrize(
    "fields",
    [
        {"seeds": [99]},
        {"seeds": []},
        {"holdout": 0.0},
        {"holdout": 1.0},
        {"halving": 0},
        {"trials": 0},
        {"criterion": "accuracy"},
        {"patience": 3},
    ],
)
def test_what_no_search_may_be_given(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TuningRequest.parse(fields)


def test_what_a_search_is_given_where_nothing_is_said() -> None:
    assert TuningRequest().trials == 20
    assert Judging() == Judging(criterion="covering_rate", seeds=(100,), holdout=0.1, halving=3)
