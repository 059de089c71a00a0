"""The supervisor of one device: it owns the process tree that judges on it, and outlives it.

It imports no torch and runs no foreign code. It prepares what the runners need (user ids,
directories, the built modules), hands a job to the judge, and waits for the judgement with its
own eye on the time. When the judge dies or stops answering it tears the tree down, starts a
fresh one, and says that the device failed, never that the candidate did.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import TypeAdapter

from reward_service import __version__
from reward_service.build.store import module_name, open_store
from reward_service.devices.detect import Gpu, gpu_of
from reward_service.devices.nvml import Nvml, NvmlError
from reward_service.errors import (
    ArtifactLostError,
    BadProblemError,
    CancelledError,
    DeviceError,
    InfrastructureError,
    QueueDeadlineError,
)
from reward_service.findings import Built, Context, Judgement
from reward_service.formats.program import program_of
from reward_service.runner.channel import Channel, ChannelError
from reward_service.sandbox.confine import Limits
from reward_service.sandbox.folder import empty, own_folder, temporary_root
from reward_service.sandbox.isolation import require, self_test
from reward_service.sandbox.uids import UidPool, kill_uid
from reward_service.schemas import DeviceInfo, Provenance, Reason, Submission
from reward_service.settings import Settings
from reward_service.verdicts import harness_hash
from reward_service.worker.device_lock import device_lock
from reward_service.worker.zygote_process import ZygoteProcess

logger = logging.getLogger(__name__)

CANDIDATE_SLOTS = 2
"""One for the candidate, one for its ghost (judge/ghost.py)."""
REFERENCE_SLOTS = 3
STALL_LIMIT_S = 300.0
"""A judge that says nothing for so long has stopped. It gives a sign before every call of a
reference; a call and what goes with it, compiling included, takes less."""
_POLL_S = 0.1
_START_LIMIT_S = 300.0
_RUNNER_LIMITS = {"file_bytes": 256 << 20, "processes": 512, "open_files": 1024}
_CPU_ADDRESS_BYTES = 32 << 30
_SCRATCH_BYTES = 1 << 30
_CANDIDATE_CPU_S = 1_800
_REFERENCE_CPU_S = 10 * 86_400
_JUDGEMENT = TypeAdapter(Judgement)
_ERRORS: dict[str, type[Exception]] = {
    Reason.BAD_PROBLEM: BadProblemError,
    Reason.CANCELLED: CancelledError,
    Reason.DEVICE_UNHEALTHY: DeviceError,
}


class Supervisor:
    """Judges submissions on one device: `cpu`, or a GPU such as `cuda:0`."""

    def __init__(self, settings: Settings, device: str) -> None:
        self.settings = settings
        self.device = device
        self.kind = "cpu" if device == "cpu" else "cuda"
        self._gpu: Gpu | None = None if self.kind == "cpu" else gpu_of(device)
        self._store = open_store(settings)
        self._stack = contextlib.ExitStack()
        self._zygote: ZygoteProcess | None = None
        self._judge: Channel | None = None
        self._facts: dict[str, Any] = {}
        self._state: Literal["idle", "busy", "quarantined", "starting"] = "starting"

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            slots = CANDIDATE_SLOTS + REFERENCE_SLOTS
            base = self.settings.runner_uid_base
            self._uids = list(range(base, base + slots))
            if os.geteuid() == 0:
                pool = UidPool(base)
                self._uids = [stack.enter_context(pool.lease()) for _ in range(slots)]
            self._isolation = self_test(self._uids[0])
            require(self.settings.min_isolation, self._isolation)
            self._root = stack.enter_context(own_folder(temporary_root() / "runners"))
            self._slots = [self._slot(number) for number in range(slots)]
            stack.callback(self._stop)
            self._start()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def info(self) -> DeviceInfo:
        """The device as it is now."""
        return DeviceInfo(
            device_class=self._facts["device_class"],
            name=self._facts["name"],
            uuid=self._facts["uuid"],
            state=self._state,
            isolation=self._isolation.summary,
            worker=f"{os.uname().nodename}:{os.getpid()}",
            memory_bytes=self._facts["memory_bytes"],
        )

    def judge(
        self, submission: Submission, problem: str, built: Built, context: Context
    ) -> Judgement:
        """Judge one built candidate against the reference whose source is `problem`.

        Raises `InfrastructureError` or `BadProblemError`; a candidate that fails is a value.
        """
        context.check()
        self._state = "busy"
        try:
            with device_lock(self._identity, context.check):
                if self._judge is None:
                    self._start(context)
                request = {
                    "op": "evaluate",
                    "problem_source": problem,
                    "candidate_source": program_of(submission.candidate),
                    "extensions": self._place_modules(built.artifacts),
                    "policy": submission.policy.model_dump(mode="json"),
                    "load_limit_s": self.settings.load_timeout_s,
                    "timing_budget_s": self.settings.timing_budget_s,
                }
                answer, clocks = self._ask(request, context)
        finally:
            self._state = "idle" if self._judge is not None else "quarantined"
        if "error" in answer:
            reason, message = answer["error"]["reason"], answer["error"]["message"]
            if reason == Reason.INTERNAL:
                self._stop()  # what it did not expect may have left its device context broken
            raise _ERRORS.get(reason, InfrastructureError)(message)
        judgement = _JUDGEMENT.validate_python(answer["judgement"])
        return replace(judgement, provenance=self._provenance(answer["seed"], clocks))

    # --- asking ----------------------------------------------------------------------------

    def _ask(
        self, request: dict[str, Any], context: Context
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Send a job and wait; tears the tree down if the judge does not answer."""
        assert self._judge is not None
        clocks: dict[str, float] = {}
        heard = time.monotonic()
        # Between two signs of life lies a call of the candidate, and one to warm it up.
        patience = STALL_LIMIT_S + 2 * (request["policy"]["time_limit_s"] or 0)
        aborted: InfrastructureError | None = None
        try:
            self._judge.send(request)
            while True:
                if self._judge.poll(_POLL_S):
                    message, _ = self._judge.receive(_START_LIMIT_S)
                    heard = time.monotonic()
                    if "progress" in message:
                        context.progress(message["progress"])
                        if message["progress"] == "timing":
                            clocks = self._clocks()
                    elif "alive" not in message:
                        if aborted is not None:
                            raise aborted
                        return message, clocks
                elif time.monotonic() - heard > patience:
                    raise DeviceError(f"the judge said nothing for {patience:.0f} s")
                if aborted is None:
                    try:
                        context.check()
                    except (CancelledError, QueueDeadlineError) as error:
                        aborted = error
                        self._judge.send({"op": "abort"})
        except ChannelError as error:
            self._stop()
            raise DeviceError(f"the judge of {self.device} ended: {error}") from error
        except DeviceError:
            self._stop()
            raise

    def _place_modules(self, artifacts: Mapping[str, str]) -> dict[str, str]:
        """Put the built modules where the candidate's runner may read them: call key -> path."""
        directory = Path(self._slots[0]["modules"])
        empty(directory)
        placed = {}
        for call, key in artifacts.items():
            module = self._store.read(key)
            if module is None:
                raise ArtifactLostError(
                    "a module that was built is not in this worker's artifact store: builders and "
                    "workers need REWARD_SERVICE_STATE_DIR in common, or "
                    "REWARD_SERVICE_ARTIFACT_STORE=redis, and room for what is in flight"
                )
            target = directory / f"{module_name(key)}.so"
            target.write_bytes(module)
            target.chmod(0o644)
            placed[call] = str(target)
        return placed

    # --- the process tree ------------------------------------------------------------------

    def _start(self, context: Context | None = None) -> None:
        progress = context.progress if context else logger.info
        progress(f"starting the judge of {self.device}")
        environment = {
            "CUDA_VISIBLE_DEVICES": str(self._gpu.index) if self._gpu else "",
            "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
            # Several contexts are made beside each other 2.4 times as fast with one connection;
            # streams of a candidate may then run one after the other.
            "CUDA_DEVICE_MAX_CONNECTIONS": "1",
            "CUDA_CACHE_DISABLE": "1",
        }
        self._zygote = ZygoteProcess(environment)
        config = {
            "device": self.kind,
            "cpus": self._cores(judge=True),
            "slots": self._slots,
            "memory_limit": self.settings.device_memory_bytes,
            "calibration": self._stored_calibration(),
        }
        self._judge = self._zygote.start_judge(config)
        try:
            while "facts" not in (message := self._judge.receive(_START_LIMIT_S)[0]):
                if "progress" in message:
                    progress(message["progress"])
        except ChannelError as error:
            self._stop()
            raise DeviceError(f"the judge of {self.device} did not start: {error}") from error
        self._facts = message["facts"]
        self._store_calibration(message["calibration"])
        self._state = "idle"

    def _stop(self) -> None:
        if self._judge is not None:
            self._judge.close()
            self._judge = None
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None
        if self._isolation.layers["uid"]:
            for uid in self._uids:
                kill_uid(uid)

    def _slot(self, number: int) -> dict[str, Any]:
        limits = Limits(
            **_RUNNER_LIMITS,
            cpu_s=_CANDIDATE_CPU_S if number < CANDIDATE_SLOTS else _REFERENCE_CPU_S,
            address_bytes=_CPU_ADDRESS_BYTES if self.kind == "cpu" else None,
            scratch_bytes=_SCRATCH_BYTES,
        )
        scratch, modules = self._root / f"slot-{number}", self._root / f"modules-{number}"
        confinement = self._isolation.confinement(self._uids[number], limits, scratch)
        scratch.mkdir(mode=0o700)
        modules.mkdir()
        modules.chmod(0o755)
        if confinement.uid is not None:
            os.chown(scratch, confinement.uid, confinement.uid)
        return {
            "uid": confinement.uid,
            "scratch": str(scratch),
            "modules": str(modules),
            "memory_bytes": self.settings.runner_memory_bytes or _memory_bytes() // 2,
            "cpus": self._cores(judge=False),
            "limits": asdict(limits),
            "layers": sorted(confinement.chosen),
        }

    def _cores(self, *, judge: bool) -> list[int]:
        """On the CPU device the measured program has a core that the judge does not use."""
        cores = sorted(os.sched_getaffinity(0))
        if self.kind != "cpu" or len(cores) < 2:
            return []
        return cores[:-1] if judge else cores[-1:]

    # --- provenance and calibration --------------------------------------------------------

    def _provenance(self, seed: str, clocks: dict[str, float]) -> Provenance:
        return Provenance(
            service_version=__version__,
            harness_hash=harness_hash(),
            device_class=self._facts["device_class"],
            device_name=self._facts["name"],
            device_uuid=self._facts["uuid"],
            driver=self._gpu.driver if self._gpu else None,
            torch=self._facts["torch"],
            cuda=self._facts["cuda"],
            clocks=clocks,
            isolation=self._isolation.summary,
            seed=seed,
        )

    def _clocks(self) -> dict[str, float]:
        if self._gpu is None:
            return {}
        try:
            return Nvml.open(self._gpu.uuid).clocks_mhz()
        except NvmlError as error:
            logger.warning("no clocks in the provenance: %s", error)
            return {}

    @property
    def _identity(self) -> str:
        return self._gpu.uuid if self._gpu else f"cpu-{os.uname().nodename}"

    def _calibration_path(self) -> Path:
        digest = hashlib.sha256(f"{self._identity} {harness_hash()}".encode()).hexdigest()
        return self.settings.state_dir.expanduser() / "calibration" / f"{digest[:24]}.json"

    def _stored_calibration(self) -> dict[str, Any] | None:
        path = self._calibration_path()
        if not path.exists():
            return None
        stored: dict[str, Any] = json.loads(path.read_text())
        return stored

    def _store_calibration(self, calibration: dict[str, Any]) -> None:
        path = self._calibration_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(calibration))
        temporary.replace(path)


def _memory_bytes() -> int:
    """The host's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
