"""Examples of submissions, for the API's description."""

from __future__ import annotations

from typing import Any

_PROBLEM = {"name": "level1/relu"}
_PROGRAM = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
_PLACE = "torch.relu(x)"


def _submission(candidate: dict[str, str], **fields: Any) -> dict[str, Any]:
    policy = {"library": "allow"}
    return {"problem": _PROBLEM, "candidate": candidate, "policy": policy, **fields}


PROGRAM = _submission({"source": _PROGRAM}, deadline_s=300, tags={"run": "example"})
COMPLETION = _submission({"text": f"Here is the kernel:\n```python\n{_PROGRAM}```\n"})
INFILL = _submission(
    {
        "format": "infill",
        "prefix": _PROGRAM.partition(_PLACE)[0],
        "middle": _PLACE,
        "suffix": _PROGRAM.partition(_PLACE)[2],
    }
)
SUBMISSIONS: dict[str, Any] = {
    "a program": {"value": PROGRAM},
    "a model's completion": {"value": COMPLETION},
    "an infill": {"value": INFILL},
}
BATCHES: dict[str, Any] = {"a batch": {"value": {"submissions": [PROGRAM, COMPLETION, INFILL]}}}
