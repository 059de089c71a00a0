"""What each reward kind promises, over every scored verdict and legal speedup."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reward_service.errors import PrerequisiteError, RequestError
from reward_service.rewards.book import RewardBook, RewardConfig
from reward_service.rewards.kinds import KINDS, FastP, LogSpeedup, Tiered
from reward_service.schemas import REASONS, Outcome, Reason, Speedup

NAMES = sorted(KINDS)
FAILURES = [
    (outcome, reason)
    for outcome, reasons in REASONS.items()
    if outcome is not Outcome.UNSCORED
    for reason in sorted(reasons)
]

lows = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)
names = st.sampled_from(NAMES)
failures = st.sampled_from(FAILURES)


def config(name: str) -> RewardConfig:
    return RewardBook().resolve(name)


def correct(reward: RewardConfig, low: float | None, high: float | None = None) -> float:
    if low is None:
        return reward.score(Outcome.CORRECT, None, None)
    top = low if high is None else high
    return reward.score(
        Outcome.CORRECT, None, Speedup(value=top, low=low, high=top, baseline="eager")
    )


def custom(kind: str, **parameters: float) -> RewardConfig:
    return RewardConfig("custom", 1, "", kind, KINDS[kind](**parameters))


@given(names, lows, lows)
def test_a_reward_never_falls_as_the_speedups_lower_end_rises(
    name: str, a: float, b: float
) -> None:
    assert correct(config(name), min(a, b)) <= correct(config(name), max(a, b))


@given(names, lows, lows)
def test_only_the_lower_end_of_the_interval_counts(name: str, a: float, b: float) -> None:
    assert correct(config(name), min(a, b), max(a, b)) == correct(config(name), min(a, b))


@given(names, lows)
def test_a_reward_is_bounded_at_any_legal_speedup(name: str, low: float) -> None:
    assert 0 <= correct(config(name), low) <= 2


@given(st.floats(-1000, 1000), st.floats(0, 1000), st.floats(-1000, 0), st.floats(0, 1000), lows)
def test_log_speedup_is_finite_under_any_parameters_it_accepts(
    base: float, scale: float, lo: float, hi: float, low: float
) -> None:
    worst = base + scale * lo
    assume(worst > -1000)
    reward = custom(
        "log_speedup", compile_error=-1000, failure=-1000, base=base, scale=scale, lo=lo, hi=hi
    )
    assert math.isfinite(correct(reward, low))
    assert correct(reward, low) >= worst


@given(names, failures, st.one_of(st.none(), lows))
def test_correct_is_worth_more_than_any_failure(
    name: str, failure: tuple[Outcome, Reason], low: float | None
) -> None:
    reward = config(name)
    if name == "fast_p":  # where correct and too slow is worth as little as a failure
        assert correct(reward, low) >= reward.score(*failure, None)
    else:
        assert correct(reward, low) > reward.score(*failure, None)


@given(names, failures)
def test_a_cheat_is_worth_no_more_than_any_other_failure(
    name: str, failure: tuple[Outcome, Reason]
) -> None:
    reward = config(name)
    for reason in REASONS[Outcome.REJECTED]:
        assert reward.score(Outcome.REJECTED, reason, None) <= reward.score(*failure, None)


@pytest.mark.parametrize("name", NAMES)
def test_built_and_unscored_map_to_no_number(name: str) -> None:
    for reason in (None, *REASONS[Outcome.UNSCORED]):
        for outcome in (Outcome.BUILT, Outcome.UNSCORED):
            with pytest.raises(ValueError, match="no reward"):
                config(name).score(outcome, reason, None)


@pytest.mark.parametrize("name", NAMES)
def test_a_combination_that_no_verdict_can_have_is_refused(name: str) -> None:
    speedup = Speedup(value=2, low=2, high=2, baseline="eager")
    with pytest.raises(ValueError, match="does not allow reason MISMATCH"):
        config(name).score(Outcome.CORRECT, Reason.MISMATCH, speedup)
    with pytest.raises(ValueError, match="does not allow reason None"):
        config(name).score(Outcome.INCORRECT, None, None)
    with pytest.raises(ValueError, match="has no speedup"):
        config(name).score(*FAILURES[0], speedup)


def test_dice_pays_one_for_correct_and_nothing_for_speed() -> None:
    assert [correct(config("dice"), low) for low in (None, 0.01, 100.0)] == [1, 1, 1]


def test_fast_p_pays_beyond_p_only() -> None:
    assert [correct(config("fast_p"), low) for low in (None, 0.9, 1.0, 1.01)] == [0, 0, 0, 1]
    assert [correct(custom("fast_p", p=2), low) for low in (2.0, 2.01)] == [0, 1]
    assert correct(custom("fast_p", p=0), None) == 1


def test_tiered_rises_by_stage_then_by_speed() -> None:
    tiered = config("tiered")
    by_outcome = {outcome: tiered.score(outcome, reason, None) for outcome, reason in FAILURES}
    stages = [Outcome.COMPILE_ERROR, Outcome.RUNTIME_ERROR, Outcome.INCORRECT]
    earned = [by_outcome[stage] for stage in stages]
    earned += [correct(tiered, low) for low in (1.0, 1.5, 2.0, 4.0)]
    assert earned == sorted(set(earned))
    assert by_outcome[Outcome.TIMEOUT] == by_outcome[Outcome.RUNTIME_ERROR]
    assert correct(tiered, 0.1) == correct(tiered, 1.0) == correct(tiered, None)
    assert correct(tiered, 4.0) == correct(tiered, 400.0) == 1


def test_log_speedup_pays_each_doubling_alike_and_untimed_as_the_baseline() -> None:
    reward = config("log_speedup")
    steps = [correct(reward, 2.0 ** (k + 1)) - correct(reward, 2.0**k) for k in range(-2, 4)]
    assert steps == pytest.approx([0.25] * 6)
    assert correct(reward, None) == correct(reward, 1.0) == 1


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (Tiered, {"rejected": 0.05}),
        (Tiered, {"incorrect": 0.6}),
        (Tiered, {"runtime_error": 0.0}),
        (Tiered, {"full_speedup": 1.0}),
        (LogSpeedup, {"failure": 0.6}),
        (LogSpeedup, {"compile_error": 0.1}),
        (LogSpeedup, {"scale": -1.0}),
        (LogSpeedup, {"hi": math.inf}),
        (FastP, {"p": math.nan}),
        (FastP, {"q": 1.0}),
    ],
)
def test_parameters_under_which_failing_would_pay_are_refused(
    kind: type[Tiered], parameters: dict[str, float]
) -> None:
    with pytest.raises(ValueError, match="validation error"):
        kind(**parameters)


@given(st.floats(0, 100), st.floats(0, 100))
def test_the_hash_changes_with_the_parameters_and_with_nothing_else(a: float, b: float) -> None:
    first, second = custom("fast_p", p=a), custom("fast_p", p=b)
    assert (first.ref.hash == second.ref.hash) == (a == b)
    renamed = RewardConfig("other", 1, "described", "fast_p", FastP(p=a))
    assert renamed.ref.hash == first.ref.hash


def test_the_hash_changes_with_kind_and_version() -> None:
    hashes = {config(name).ref.hash for name in NAMES}
    hashes.add(RewardConfig("dice", 2, "", "dice", KINDS["dice"]()).ref.hash)
    assert len(hashes) == len(NAMES) + 1


def test_the_book_lists_its_configs_with_parameters_and_reference() -> None:
    infos = RewardBook().list()
    assert [info.name for info in infos] == NAMES
    fast_p = infos[NAMES.index("fast_p")]
    assert fast_p.parameters == {"p": 1.0}
    assert fast_p.hash == config("fast_p").ref.hash
    assert all(info.description for info in infos)


def test_a_name_may_carry_its_version() -> None:
    assert config("dice@1") == config("dice")
    assert str(config("dice@1").ref) == "dice@1"


@pytest.mark.parametrize("name", ["dise", "dice@2", "dice@", "@1", ""])
def test_an_unknown_config_is_answered_with_those_that_exist(name: str) -> None:
    with pytest.raises(RequestError) as error:
        config(name)
    assert (error.value.status, error.value.field) == (422, "policy.reward")
    assert "dice@1, fast_p@1, log_speedup@1, tiered@1" in error.value.detail


def test_a_file_adds_configs_built_on_the_kinds(tmp_path: Path) -> None:
    file = tmp_path / "rewards.toml"
    file.write_text(
        '[fast_2]\nkind = "fast_p"\nversion = 3\ndescription = "twice"\nparameters = { p = 2 }\n'
        '[steep]\nkind = "log_speedup"\nparameters = { scale = 0.4 }\n'
    )
    book = RewardBook(file)
    assert [info.name for info in book.list()] == sorted([*NAMES, "fast_2", "steep"])
    fast_2 = book.resolve("fast_2@3")
    assert (fast_2.description, fast_2.parameters) == ("twice", {"p": 2.0})
    assert correct(fast_2, 1.5) == 0
    assert correct(fast_2, 2.5) == 1
    assert correct(book.resolve("steep"), 2.0) == pytest.approx(1.4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[a]\nkind = "fast_p"\nspeed = 2', "a.speed: Extra inputs"),
        ('[a]\nkind = "fast_p"\nparameters = { q = 2 }', "a.parameters.q: Extra inputs"),
        ('[a]\nkind = "fast_p"\nparameters = { p = "2" }', "a.parameters.p: "),
        ('[a]\nkind = "fast_p"\nparameters = { p = true }', "a.parameters.p: "),
        ('[a]\nkind = "fast_p"\nparameters = { p = nan }', "a.parameters.p: "),
        ('[a]\nkind = "tiered"\nparameters = { rejected = 1 }', "a.parameters: .*rejected <="),
        ('[a]\nkind = "best"', "a.kind: Input should be 'dice'"),
        ("[a]\nversion = 1", "a.kind: Field required"),
        ('[a]\nkind = "dice"\nversion = 0', "a.version: "),
        ('["a b"]\nkind = "dice"', "a b: String should match"),
        ('[dice]\nkind = "dice"', r"\[dice\] is the name of a built-in"),
        ("a = 1", "a: Input should be a valid dictionary"),
        ("[a", "end of document"),
    ],
)
def test_a_bad_file_is_refused_with_the_key_at_fault(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rewards.toml"
    file.write_text(text)
    with pytest.raises(PrerequisiteError, match=said) as error:
        RewardBook(file)
    assert str(file) in str(error.value)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"nowhere\.toml .*No such file"):
        RewardBook(tmp_path / "nowhere.toml")
