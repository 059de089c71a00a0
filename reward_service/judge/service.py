"""The judge's process: takes one job at a time from the supervisor and answers with a judgement.

It keeps prepared references warm, each in a runner of its own, and ends the least recently used
when it needs a slot. Messages from the supervisor:

    {"op": "evaluate", ...}  -> {"progress": text}*, then {"judgement": ...} or {"error": ...}
    {"op": "abort"}          in the middle of one: nobody waits for it any more
"""

from __future__ import annotations

import contextlib
import secrets
import traceback
from collections import OrderedDict
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter

from reward_service.errors import CancelledError, DeviceError, RewardServiceError
from reward_service.findings import Judgement
from reward_service.judge.calibrate import Calibration, calibrate
from reward_service.judge.device import JudgeDevice
from reward_service.judge.evaluate import Evaluation, Job
from reward_service.judge.program import Program
from reward_service.judge.reference import Reference, ReferenceKey
from reward_service.judge.runner_client import (
    CandidateError,
    ProblemRunnerError,
    RunnerClient,
    RunnerError,
    RunnerSlot,
)
from reward_service.judge.timing import TimingPlan
from reward_service.runner.channel import Channel, ChannelClosedError, ChannelError
from reward_service.sandbox.folder import empty
from reward_service.schemas import Policy, Reason

CANARY_LIMIT_S = 30.0
_SUSPICIOUS = frozenset(
    {
        Reason.RUN_TIMEOUT,
        Reason.CUDA_FAULT,
        Reason.OUT_OF_MEMORY,
        Reason.EARLY_EXIT,
        Reason.EXCEPTION,
        Reason.PROTOCOL,
    }
)
"""After these the device has to prove itself before the candidate is blamed."""
_JUDGEMENT = TypeAdapter(Judgement)


class JudgeService:
    """The judge of one device."""

    def __init__(self, supervisor: Channel, zygote: Channel, config: dict[str, Any]) -> None:
        self.supervisor = supervisor
        self.zygote = zygote
        self.device = JudgeDevice(config["device"])
        self.memory_limit: int = config["memory_limit"]
        slots = [_slot(**slot) for slot in config["slots"]]
        self.candidate_slot, self.ghost_slot, *self.free_slots = slots
        self.references: OrderedDict[ReferenceKey, tuple[Reference, RunnerSlot]] = OrderedDict()
        self.generator = torch.Generator(self.device.device)
        self.facts = self.device.facts()
        stored = config["calibration"]
        self.calibration = Calibration.from_json(stored) if stored else self._calibrate()

    def serve(self) -> None:
        """Answer until the supervisor is gone."""
        self.supervisor.send(
            {"facts": asdict(self.facts), "calibration": self.calibration.as_json()}
        )
        while True:
            try:
                message, _ = self.supervisor.receive()
            except ChannelClosedError:
                return
            if message["op"] == "evaluate":
                self.supervisor.send(self._answer(message))

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        seed = secrets.randbits(62)
        try:
            judgement = self._evaluate(message, seed)
        except RewardServiceError as error:
            return {"error": {"reason": error.reason, "message": str(error)}}
        except ChannelError:
            raise  # without the zygote or the supervisor there is nothing left to do here
        except Exception:  # noqa: BLE001 - a bug of ours must not end the judge
            traceback.print_exc()
            return {"error": {"reason": Reason.INTERNAL, "message": "the judge failed"}}
        return {
            "judgement": _JUDGEMENT.dump_python(judgement, mode="json"),
            "seed": f"{seed:016x}",
        }

    def _evaluate(self, message: dict[str, Any], seed: int) -> Judgement:
        policy = Policy.model_validate(message["policy"])
        self.generator.manual_seed(seed)
        key = ReferenceKey(
            message["problem_source"], policy.precision, policy.baseline == "compile"
        )
        reference = self._reference(key)
        self._checkpoint()
        candidate = self._start(self.candidate_slot, CandidateError)
        evaluation = Evaluation(
            reference=reference,
            candidate=candidate,
            job=Job(
                candidate_source=message["candidate_source"],
                extensions=message["extensions"],
                ghost_modules=self.ghost_slot.modules,
                policy=policy,
                load_limit_s=message["load_limit_s"],
                timing=TimingPlan(message["timing_budget_s"]),
            ),
            facts=self.facts,
            calibration=self.calibration,
            progress=self._progress,
            checkpoint=self._checkpoint,
            start_ghost=self._start_ghost,
        )
        try:
            judgement = evaluation.judge()
        except ProblemRunnerError as error:
            self._drop(key)
            raise DeviceError(
                f"the reference, which had been prepared, failed later: {error}"
            ) from error
        finally:
            candidate.end()
            if evaluation.ghost is not None:
                evaluation.ghost.end()
        if evaluation.ghost_failure in _SUSPICIOUS:
            self._require_health()
        if judgement.failure is not None and judgement.failure.reason in _SUSPICIOUS:
            self._require_health()
        if judgement.failure is not None and judgement.failure.reason is Reason.RUN_TIMEOUT:
            reference.require_usual_speed()
        return judgement

    # --- references ------------------------------------------------------------------------

    def _reference(self, key: ReferenceKey) -> Reference:
        if key in self.references:
            self.references.move_to_end(key)
            return self.references[key][0]
        if not self.free_slots:
            self._drop(next(iter(self.references)))
        slot = self.free_slots.pop()
        reference = Reference(
            key,
            self._start(slot, ProblemRunnerError),
            self.memory_limit,
            self.facts.cache_bytes,
            self.generator,
            self._checkpoint,
        )
        self.references[key] = reference, slot
        try:
            reference.prepare(self._progress)
        except BaseException:
            self._drop(key)
            raise
        return reference

    def _drop(self, key: ReferenceKey) -> None:
        reference, slot = self.references.pop(key)
        reference.program.end()
        self.free_slots.append(slot)

    def _start_ghost(self) -> Program:
        empty(self.ghost_slot.modules)
        return self._start(self.ghost_slot, CandidateError)

    def _start(self, slot: RunnerSlot, failure: type[RunnerError]) -> Program:
        empty(slot.scratch)  # of what an earlier runner left, where the memory is not its own
        client = RunnerClient(self.zygote, slot, self.device.kind, failure)
        return Program(client, self.device)

    # --- the rest --------------------------------------------------------------------------

    def _calibrate(self) -> Calibration:
        self.generator.manual_seed(secrets.randbits(62))

        def candidate() -> Program:
            return self._start(self.candidate_slot, CandidateError)

        def reference(source: str) -> Reference:
            return self._reference(ReferenceKey(source, "fp32", compiled=False))

        calibration = calibrate(reference, candidate, self._progress)
        for key in list(self.references):
            self._drop(key)
        return calibration

    def _require_health(self) -> None:
        request = {"op": "canary", "device": self.device.kind, "timeout": CANARY_LIMIT_S}
        answer = self.zygote.request(request, timeout=CANARY_LIMIT_S + 10)
        if answer["healthy"] is not True:
            raise DeviceError("after this candidate the device did not answer a new process")

    def _progress(self, text: str) -> None:
        self.supervisor.send({"progress": text})

    def _checkpoint(self) -> None:
        """Give a sign of life, and raise if nobody waits any more."""
        self.supervisor.send({"alive": True})
        if self.supervisor.poll(0):
            message, _ = self.supervisor.receive()
            if message["op"] == "abort":
                raise CancelledError("nobody waits for the answer any more")


def _slot(scratch: str, modules: str, **rest: Any) -> RunnerSlot:
    return RunnerSlot(scratch=Path(scratch), modules=Path(modules), **rest)


def serve(supervisor: Channel, zygote: Channel, config: dict[str, Any]) -> None:
    """Run the judge of one device until the supervisor is gone."""
    with contextlib.suppress(ChannelClosedError):
        JudgeService(supervisor, zygote, config).serve()
