"""A runner with its program and the memory that calls go through."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from reward_service.judge.device import JudgeDevice
from reward_service.judge.memory import Layout
from reward_service.judge.revisit import MOST_BYTES, Revisit
from reward_service.judge.runner_client import Call, RunnerClient
from reward_service.judge.specs import (
    MAX_STATE_TENSORS,
    MAX_TENSORS,
    SpecError,
    TensorSpec,
    parse_specs,
    total_bytes,
)
from reward_service.runner.outputs import Quirk
from reward_service.runner.page import Mode, SharedMemory
from reward_service.runner.values import digest
from reward_service.runner.veil import KEY_BITS, veil
from reward_service.schemas import Reason

SETUP_LIMIT_S = 60.0


@dataclass(frozen=True)
class CallShape:
    """What calls look like; the reference decides it, and the candidate must keep to it."""

    tree: dict[str, Any]
    inputs: Layout
    output_tree: dict[str, Any]
    outputs: dict[Mode, Layout]
    inputs_after: Layout
    state_after: Layout
    quirks: tuple[Quirk, ...] = ()
    """What the reference's outputs have that plain new tensors have not."""

    @property
    def kept_outputs(self) -> list[bool]:
        """Which outputs stay what they are after later calls: not those that share memory."""
        odd = {quirk.output for quirk in self.quirks}
        return [index not in odd for index in range(len(self.outputs[Mode.WORKING].specs))]

    @property
    def result_bytes(self) -> int:
        """Bytes that results take."""
        layouts = [*self.outputs.values(), self.inputs_after, self.state_after]
        return max(layout.end for layout in layouts)


@dataclass(frozen=True)
class Values:
    """One set of input values: what the program will see, and how it lies in memory."""

    tensors: list[Tensor]
    """On the judge's device."""
    veiled: list[Tensor]
    """The bytes of the same under `key`."""
    key: int
    """What a runner needs to read them; it learns it when the clock starts."""
    seed: int
    """For generators that the program itself may draw from."""

    @classmethod
    def of(cls, tensors: Sequence[Tensor], seed: int) -> Values:
        """Values under a new key."""
        tensors = [tensor.contiguous() for tensor in tensors]
        key = secrets.randbits(KEY_BITS)
        return cls(tensors, veil(tensors, key), key, seed)


@dataclass(frozen=True)
class Run:
    """One call and what it left behind, in the judge's own memory."""

    call: Call
    outputs: list[Tensor]
    inputs_after: list[Tensor]
    state_after: list[Tensor]


class Program:
    """A problem or a candidate, loaded in a runner of its own."""

    def __init__(self, client: RunnerClient, device: JudgeDevice) -> None:
        self.client = client
        self.device = device
        self.state: list[tuple[str, TensorSpec]] = []
        self.shape: CallShape | None = None
        self._revisit = Revisit(())
        self._inputs: SharedMemory | None = None
        self._results: SharedMemory | None = None

    def ask(self, op: str, limit_s: float = SETUP_LIMIT_S, **arguments: Any) -> dict[str, Any]:
        """A request without shared memory."""
        return self.client.request(op, limit_s, **arguments)

    def construct(self, limit_s: float = SETUP_LIMIT_S, **arguments: Any) -> dict[str, Any]:
        """Have the model built; remembers the names and specs of its state."""
        answer = self.ask("construct", limit_s, **arguments)
        entries = answer.get("state")
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            raise self.client.failure(Reason.PROTOCOL, "it described its state in no known form")
        names = [str(entry.pop("name", ""))[:200] for entry in entries]
        self.state = list(zip(names, self.read_specs(entries, MAX_STATE_TENSORS), strict=True))
        return answer

    def read_state(self) -> list[Tensor]:
        """Copies of parameters and buffers, on the judge's device."""
        layout = Layout.of(item for _, item in self.state)
        memory = SharedMemory.create(layout.end)
        self.client.request("export_state", SETUP_LIMIT_S, memory, offsets=list(layout.offsets))
        tensors = layout.read(memory, self.device.device)
        memory.close()
        return tensors

    def write_state(self, tensors: Sequence[Tensor]) -> None:
        """Replace parameters and buffers."""
        if not tensors:
            return
        layout = Layout.of(item for _, item in self.state)
        memory = SharedMemory.create(layout.end)
        layout.write(memory, tensors)
        self.client.request("load_state", SETUP_LIMIT_S, memory, offsets=list(layout.offsets))
        memory.close()

    def draw(self, seed: int) -> tuple[dict[str, Any], list[Tensor]]:
        """What `get_inputs()` returns under a seed: its tree, and its tensors."""
        answer = self.ask("draw", seed=seed)
        layout = Layout.of(self.read_specs(answer["tensors"]))
        memory = SharedMemory.create(layout.end)
        self.client.request("export_drawn", SETUP_LIMIT_S, memory, offsets=list(layout.offsets))
        tensors = layout.read(memory, self.device.device)
        memory.close()
        return answer["tree"], tensors

    def bind(self, tree: dict[str, Any], layout: Layout, values: Values) -> None:
        """Share memory for the inputs; `values` are for calls that nobody times."""
        self._inputs = SharedMemory.create(layout.end)
        self.device.adopt(self._inputs)
        self.place(layout, values)
        self.client.request(
            "bind",
            SETUP_LIMIT_S,
            self._inputs,
            tree=tree,
            tensors=[item.as_json() for item in layout.specs],
            offsets=list(layout.offsets),
            key=values.key,
        )

    def expect(self, shape: CallShape, *, revisit: bool = False) -> None:
        """Share memory for the results; `revisit` them after later calls."""
        self.shape = shape
        if revisit and total_bytes(shape.outputs[Mode.WORKING].specs) <= MOST_BYTES:
            self._revisit = Revisit(shape.kept_outputs)
        self._results = SharedMemory.create(shape.result_bytes)
        self.device.adopt(self._results)
        offsets = {mode.name: list(layout.offsets) for mode, layout in shape.outputs.items()}
        offsets |= {
            "inputs": list(shape.inputs_after.offsets),
            "state": list(shape.state_after.offsets),
        }
        self.client.request(
            "expect",
            SETUP_LIMIT_S,
            self._results,
            tree=shape.output_tree,
            tensors={
                mode.name: [item.as_json() for item in layout.specs]
                for mode, layout in shape.outputs.items()
            },
            offsets=offsets,
            quirks=[list(quirk) for quirk in shape.quirks],
        )

    def place(self, layout: Layout, values: Values) -> None:
        """Lay values out in the memory of the inputs."""
        assert self._inputs is not None
        layout.write_bytes(self._inputs, values.veiled)
        self.device.synchronize()

    def run(
        self,
        values: Values,
        limit_s: float,
        *,
        mode: Mode = Mode.WORKING,
        renew: bool = False,
        restore: bool = False,
        everything: bool = False,
    ) -> Run:
        """Have the program called on values that were placed, and take what it returned."""
        assert self.shape is not None
        assert self._results is not None
        keep = mode is Mode.WORKING and self._revisit.wants()
        call = self.client.call(
            values.key,
            limit_s,
            mode=mode,
            seed=values.seed,
            renew=renew,
            restore=restore,
            everything=everything,
            keep=keep,
        )
        outputs = self.shape.outputs[mode].read(self._results, self.device.device)
        if int(digest(outputs)) != call.digest:
            raise self.client.failure(
                Reason.STALE, "its output changed after it had said that it was done"
            )
        inputs_after: list[Tensor] = []
        state_after: list[Tensor] = []
        if everything:
            inputs_after = self.shape.inputs_after.read(self._results, self.device.device)
            state_after = self.shape.state_after.read(self._results, self.device.device)
            if int(digest(inputs_after)) != call.inputs_digest:
                raise self.client.failure(
                    Reason.STALE, "its inputs changed after it had said that it was done"
                )
        if keep:
            self._revisit.kept(outputs)
        elif self._revisit.due():
            self._look_again()
        return Run(call, outputs, inputs_after, state_after)

    def _look_again(self) -> None:
        """Raise if outputs that were kept have changed."""
        assert self.shape is not None
        assert self._results is not None
        self.client.recall()
        again = self.shape.outputs[Mode.WORKING].read(self._results, self.device.device)
        changed = self._revisit.changed(again)
        if changed is not None:
            message = f"output {changed} of an earlier call was changed by a later one"
            raise self.client.failure(Reason.STALE, message)

    def read_specs(self, value: object, most: int = MAX_TENSORS) -> tuple[TensorSpec, ...]:
        """Specs that the runner told of."""
        try:
            return parse_specs(value, most)
        except SpecError as error:
            message = f"it described tensors badly: {error}"
            raise self.client.failure(Reason.PROTOCOL, message) from error

    def end(self) -> str:
        """End the runner and give the memory back; the tail of what it printed."""
        log = self.client.end()
        for memory in (self._inputs, self._results):
            if memory is not None:
                self.device.release(memory)
        return log
