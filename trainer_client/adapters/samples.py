"""What the trainers hand over, as submissions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reward_service.schemas import Candidate, Policy, Problem, Submission


def submission_of(
    problem: str, completion: object, policy: Policy, deadline_s: float, tags: Mapping[str, str]
) -> Submission:
    """One completion for one problem.

    `problem` is the name of a problem that the service has, or a reference's source, which has
    more than one line. The service finds the program in the completion. Raises `ValueError` where
    the problem or the completion is none.
    """
    if not isinstance(problem, str) or not problem.strip():
        raise ValueError(f"a problem must be a name or a source, not {problem!r}")
    reference = Problem(source=problem) if "\n" in problem else Problem(name=problem)
    return Submission(
        problem=reference,
        candidate=Candidate(text=text_of(completion)),
        policy=policy,
        deadline_s=deadline_s,
        tags=dict(tags),
    )


def text_of(completion: object) -> str:
    """The text of a completion: a string, or a conversation, whose last message counts.

    Raises `ValueError` for anything else.
    """
    if isinstance(completion, Sequence) and not isinstance(completion, str) and completion:
        completion = completion[-1]
    if isinstance(completion, Mapping):
        completion = _content(completion)
    if not isinstance(completion, str):
        raise ValueError(f"a completion must be text or messages, not {type(completion).__name__}")
    return completion


def _content(message: Mapping[str, Any]) -> object:
    """Its text; the parts of one in parts are joined."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return content
