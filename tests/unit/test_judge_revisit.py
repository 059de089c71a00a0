"""When the judge looks again, and what it makes of what it sees."""

import torch

from reward_service.judge.revisit import Revisit


def _look(revisit, outputs, after):
    """The answer of the first look, with outputs that become `after` two calls later."""
    assert revisit.wants()
    revisit.kept(outputs)
    assert not revisit.wants()
    assert not revisit.due()
    assert not revisit.wants()
    assert revisit.due()
    return revisit.changed(after)


def test_outputs_that_stay_are_no_matter():
    outputs = [torch.ones(2), torch.full((2,), torch.nan)]
    assert _look(Revisit([True, True]), outputs, [t.clone() for t in outputs]) is None


def test_an_output_that_changes_is_named():
    outputs = [torch.ones(2), torch.zeros(2)]
    assert _look(Revisit([True, True]), outputs, [torch.ones(2), -torch.zeros(2)]) == 1


def test_an_output_that_nobody_may_keep_can_change():
    outputs = [torch.ones(2), torch.zeros(2)]
    assert _look(Revisit([True, False]), outputs, [torch.ones(2), torch.ones(2)]) is None
    assert not Revisit([False, False]).wants()
    assert not Revisit([]).wants()


def test_later_looks_come_now_and_then_and_soon():
    revisit = Revisit([True])
    _look(revisit, [torch.ones(1)], [torch.ones(1)])
    looks, gaps = 0, set()
    for _ in range(600):
        if not revisit.wants():
            continue
        looks += 1
        revisit.kept([torch.ones(1)])
        gap = 1
        while not revisit.due():
            gap += 1
        gaps.add(gap)
        revisit.changed([torch.ones(1)])
    assert 50 < looks < 180
    assert gaps == {1, 2}
