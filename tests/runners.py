"""Looks into runners from outside."""

from __future__ import annotations

from pathlib import Path

from reward_service.sandbox import processes
from reward_service.worker.supervisor import CANDIDATE_SLOTS, Supervisor


def files_of_references(supervisor: Supervisor, pattern: str) -> list[Path]:
    """What warm references have in their scratch directories, which no other process sees."""
    found = []
    for slot in supervisor._slots[CANDIDATE_SLOTS:]:
        for process in processes.live():
            if slot["uid"] in process.uids:
                root = Path(f"/proc/{process.pid}/root{slot['scratch']}")
                found += list(root.rglob(pattern))
    return found
