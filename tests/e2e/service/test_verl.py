"""The score function as verl's reward loop calls it: once a sample, all at a time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from service_harness import PROBLEM

from trainer_client.adapters.verl import compute_score
from trainer_client.errors import ServiceUnavailableError

ACTIONS = {
    "good": "{}",
    "wrong": '{"judge": [["fail", "MISMATCH"]]}',
    "sick": '{"judge": [["infra"]]}',
}


def said(name: str) -> str:
    return f"Here it is:\n```python\nclass ModelNew: pass\n# actions: {ACTIONS[name]}\n```\n"


def score(url: str, *names: str, **options: Any) -> list[dict[str, float]]:
    async def all_at_once() -> list[dict[str, float]]:
        scores = [
            compute_score(
                data_source="kernels",
                solution_str=said(name) if name in ACTIONS else name,
                ground_truth=PROBLEM,
                extra_info={"num_turns": None},
                url=url,
                **options,
            )
            for name in names
        ]
        return list(await asyncio.gather(*scores))

    return asyncio.run(all_at_once())


def test_each_sample_has_its_score(api):
    good, wrong, without = score(api.url, "good", "wrong", "I cannot do that.")
    assert good["score"] > 1.0
    assert (good["compiled"], good["correct"], good["speedup"]) == (1.0, 1.0, 2.0)
    assert (wrong["score"], wrong["compiled"], wrong["correct"]) == (0.0, 1.0, 0.0)
    assert (without["score"], without["compiled"]) == (0.0, 0.0)
    assert [s["infra_error"] for s in (good, wrong, without)] == [0.0] * 3


def test_what_the_service_could_not_judge_raises(api):
    with pytest.raises(ServiceUnavailableError, match="DEVICE_UNHEALTHY"):
        score(api.url, "good", "sick")


def test_or_is_flagged_with_the_same_keys(api):
    good, sick = score(api.url, "good", "sick", on_failure="flag")
    assert sick.keys() == good.keys()
    assert (sick["score"], sick["infra_error"]) == (0.0, 1.0)


def test_a_policy_is_passed_on(api):
    (built,) = score(api.url, "wrong", policy={"stop_after": "build"})
    assert (built["infra_error"], built["compiled"]) == (0.0, 1.0)
