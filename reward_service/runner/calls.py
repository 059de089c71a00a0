"""Where the inputs and results of calls lie, and what a result must look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from reward_service.runner.arena import Arena
from reward_service.runner.failure import AliasError, OutOfBoundsError, SchemaError
from reward_service.runner.outputs import Quirk, lazy, require_plain, shared
from reward_service.runner.page import Mode, SharedMemory
from reward_service.runner.poison import Poison
from reward_service.runner.values import (
    NotDataError,
    as_bytes,
    byte_count,
    flatten,
    spec,
    unflatten,
    view,
)
from reward_service.runner.veil import unveil


class CallMemory:
    """The memory of one runner's calls."""

    def __init__(self, device: torch.device) -> None:
        self.poison = Poison(device)
        self.tree: dict[str, Any] = {}
        self.specs: list[dict[str, Any]] = []
        self.sources: list[Tensor] = []
        self.staged: list[Tensor] = []
        self.arena = Arena([], self.poison)
        self.old: list[Tensor] = []
        self.results: SharedMemory | None = None
        self.expected_tree: dict[str, Any] = {}
        self.expected: dict[Mode, list[dict[str, Any]]] = {}
        self.result_offsets: dict[str, list[int]] = {}
        self.result_sizes: list[int] = []
        self.quirks: set[Quirk] = set()
        self._held: list[Tensor] = []

    @property
    def inputs(self) -> list[Tensor]:
        """Where the values of calls lie."""
        return self.arena.tensors

    def bind(
        self,
        memory: SharedMemory,
        tree: dict[str, Any],
        specs: list[dict[str, Any]],
        offsets: Sequence[int],
    ) -> None:
        """Learn the structure of the inputs, and where their bytes will lie."""
        self.tree = tree
        self.specs = specs
        self.sources = [
            as_bytes(view(memory, item["shape"], item["dtype"], offset))
            for item, offset in zip(specs, offsets, strict=True)
        ]
        self.allocate()

    def expect(
        self,
        memory: SharedMemory,
        tree: dict[str, Any],
        tensors: dict[str, list[dict[str, Any]]],
        offsets: dict[str, list[int]],
        quirks: list[list[Any]],
    ) -> None:
        """Learn what results must look like, and where their bytes go, by mode."""
        self.results = memory
        self.expected_tree = tree
        self.expected = {Mode[name]: specs for name, specs in tensors.items()}
        self.result_offsets = offsets
        self.result_sizes = [
            byte_count(item["shape"], item["dtype"]) for item in tensors[Mode.WORKING.name]
        ]
        self.quirks = {Quirk(*entry) for entry in quirks}

    def allocate(self) -> None:
        """Take new storage for the inputs."""
        device = self.poison.device
        self.staged = [
            source if source.device == device else torch.empty_like(source, device=device)
            for source in self.sources
        ]
        self.arena = Arena(self.specs, self.poison)

    def stage(self) -> None:
        """Bring the veiled inputs to the device, ahead of the clock, and poison memory that a
        result may lie in."""
        for staged, source in zip(self.staged, self.sources, strict=True):
            if staged is not source:
                staged.copy_(source, non_blocking=True)
        self._held = self.poison.blocks(self.result_sizes)

    def upload(self, key: int) -> None:
        """Unveil the inputs, and free the poisoned memory."""
        for target, staged in zip(self.arena.raw, self.staged, strict=True):
            target.copy_(staged, non_blocking=True)
        unveil(self.arena.raw, key)
        self._held.clear()

    def old_arguments(self) -> Any:
        """Arguments with values that no call is judged by."""
        return unflatten(self.tree, [old.clone() for old in self.old])

    def inputs_for(self, mode: Mode) -> list[Tensor]:
        """The tensors that calls in a mode are given."""
        if mode is Mode.DOUBLE:
            return [t.double() if t.is_floating_point() else t for t in self.inputs]
        return self.inputs

    def arguments(self, mode: Mode) -> Any:
        """The arguments of a call."""
        return unflatten(self.tree, self.inputs_for(mode))

    def check(self, result: Any, mode: Mode) -> list[Tensor]:
        """The tensors of a result that has the expected structure."""
        try:
            tree, tensors = flatten(result)
        except NotDataError as error:
            raise SchemaError(f"forward() returned what cannot be compared: {error}") from error
        if tree != self.expected_tree:
            raise SchemaError("forward() returned another structure than the reference")
        require_plain(tensors)
        for index, (tensor, expected) in enumerate(zip(tensors, self.expected[mode], strict=True)):
            actual = spec(tensor)
            for field in ("shape", "dtype", "device"):
                if actual[field] != expected[field]:
                    raise SchemaError(
                        f"output {index} has {field} {actual[field]}, the reference "
                        f"{expected[field]}"
                    )
            if not tensor.is_contiguous() and actual["strides"] != expected["strides"]:
                raise SchemaError(
                    f"output {index} has strides {actual['strides']}: neither the reference's "
                    f"{expected['strides']} nor contiguous"
                )
        for quirk in lazy(tensors) - self.quirks:
            raise SchemaError(f"output {quirk.output} {quirk.what}; the reference's is not")
        return tensors

    def check_bounds(self) -> None:
        """Raise if the call wrote beyond an end of an input."""
        if not self.arena.intact():
            raise OutOfBoundsError("memory right before or after an input was written to")

    def check_sharing(self, outputs: Sequence[Tensor], state: Sequence[Tensor]) -> None:
        """Raise if an output shares memory in a way that the reference's does not."""
        for quirk in shared(outputs, self.inputs, state) - self.quirks:
            raise AliasError(f"output {quirk.output} {quirk.what}; the reference's does not")
