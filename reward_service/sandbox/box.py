"""Hands out confinements: a user id and an empty scratch directory each, gone at the end."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reward_service.sandbox.confine import Confinement, Limits
from reward_service.sandbox.folder import own_folder
from reward_service.sandbox.isolation import Isolation, self_test
from reward_service.sandbox.uids import UidPool


@dataclass(frozen=True)
class Boxes:
    """Confinements below `folder`, at the level that this machine was found to reach."""

    folder: Path
    pool: UidPool
    isolation: Isolation

    @classmethod
    @contextlib.contextmanager
    def prepare(cls, state_dir: Path, uid_base: int) -> Iterator[Boxes]:
        """Boxes below `state_dir`, after finding out what the sandbox is worth here (0.1 s).

        Removes what was left by processes that died. Raises OSError where it cannot write.
        """
        pool = UidPool(uid_base)
        if os.geteuid() == 0:
            with pool.lease() as uid:
                isolation = self_test(uid)
        else:
            isolation = self_test(uid_base)
        with own_folder(state_dir / "scratch") as folder:
            yield cls(folder, pool, isolation)

    @contextlib.contextmanager
    def open(self, limits: Limits) -> Iterator[Confinement]:
        """A confinement whose scratch directory only its user can enter; both end with it."""
        with contextlib.ExitStack() as stack:
            uid = stack.enter_context(self.pool.lease()) if self.isolation.layers["uid"] else None
            scratch = self.folder / secrets.token_hex(8)
            scratch.mkdir(mode=0o700)
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            if uid is not None:
                os.chown(scratch, uid, uid)
            yield self.isolation.confinement(uid, limits, scratch)
