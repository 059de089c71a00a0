"""The runner: holds one program and does what the judge asks, first over its channel, then call
by call over the control page.

It holds no expected output, no tolerance, no seed of a call to come and no say in the verdict.
What it reports of itself is believed only where it speaks against the program it holds.
"""

from __future__ import annotations

import copy
import gc
import random
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from reward_service.runner.calls import CallMemory
from reward_service.runner.channel import Channel, ChannelClosedError
from reward_service.runner.failure import DeviceFaultError, RefusedError, failure
from reward_service.runner.frames import operators, spanned, undone
from reward_service.runner.outputs import lazy, shared
from reward_service.runner.page import (
    LEAVE,
    ControlPage,
    Mode,
    SharedMemory,
    Status,
    What,
)
from reward_service.runner.program import answer_extension_calls, load_program
from reward_service.runner.values import digest, flatten, spec, unflatten, view
from reward_service.runner.watch import Watch, open_watch
from reward_service.runner.window import Window, open_window, synchronized_copy
from reward_service.runner.work import multiplications, shares_read

_SPINS = 2_000
_NAP_S = 50e-6
_IDLE_AFTER, _IDLE_NAP_S = 2_000, 2e-3
"""After so many naps it naps longer: a warm reference that nobody asks must not take the time of
those that share its core."""
_FULL_COLLECTION_EVERY = 32


class Runner:
    """One program on one device."""

    def __init__(self, channel: Channel, page: ControlPage, window: Window) -> None:
        self.channel = channel
        self.page = page
        self.window = window
        self.module: ModuleType | None = None
        self.models: dict[Mode, nn.Module] = {}
        self.saved: dict[Mode, list[Tensor]] = {}
        self.drawn: list[Tensor] = []
        self.calls = CallMemory(window.device)
        self.kept: list[Tensor] = []
        """Outputs of an earlier call that the judge will look at again."""
        self.registered: set[str] = set()
        """Operators that the program's modules registered with torch."""
        self.library: set[str] = set()
        """Operators that there were before the program; on a GPU nobody asks."""
        self.watch: Watch | None = None
        """Opened once: a process may have one of these in all its life."""
        self.watching: Watch | None = None
        """The same while calls are watched."""

    # --- over the channel ------------------------------------------------------------------

    def serve(self) -> int:
        """Answer requests until the judge closes the channel."""
        handlers: dict[str, Callable[..., dict[str, Any]]] = {
            "numerics": self.numerics,
            "load": self.load,
            "construct": self.construct,
            "draw": self.draw,
            "export_drawn": self.export_drawn,
            "export_state": self.export_state,
            "load_state": self.load_state,
            "bind": self.bind,
            "probe": self.probe,
            "work": self.work,
            "expect": self.expect,
            "watch": self.start_watch,
            "activities": self.activities,
            "calls": self.serve_calls,
        }
        while True:
            try:
                message, fds = self.channel.receive()
            except ChannelClosedError:
                return 0
            memories = [SharedMemory.adopt(fd) for fd in fds]
            try:
                answer = handlers[message.pop("op")](memories=memories, **message)
            except Exception as error:  # noqa: BLE001 - foreign code may raise anything
                answer = {"error": failure(error)}
            self.channel.send(answer)

    def numerics(self, memories: list[SharedMemory], allow_tf32: bool) -> dict[str, Any]:
        """Set how products and convolutions are computed."""
        torch.backends.cuda.matmul.allow_tf32 = allow_tf32
        torch.backends.cudnn.allow_tf32 = allow_tf32
        torch.backends.cudnn.benchmark = False
        return {}

    def load(
        self,
        memories: list[SharedMemory],
        source: str,
        name: str,
        extensions: dict[str, str],
        ghost: bool = False,
    ) -> dict[str, Any]:
        """Run the program's module level; a ghost's modules must have no effect.

        On a GPU the kernels of the modules that a ghost is given were emptied beforehand.
        """
        on_cpu = self.window.device.type == "cpu"
        self.library = operators() if on_cpu else set()
        frame = (undone if ghost else spanned) if on_cpu else None
        self.registered = answer_extension_calls(extensions, frame)
        self.module = load_program(source, name)
        return {}

    def construct(
        self,
        memories: list[SharedMemory],
        cls: str,
        seed: int,
        init: dict[str, Any] | None,
        double: bool,
        compiled: bool,
    ) -> dict[str, Any]:
        """Build the model under a seed, and its float64 twin where asked.

        `init` is the tree of the constructor's arguments; None: ask the program for them.
        """
        factory = getattr(self.module, cls, None)
        if not isinstance(factory, type) or not issubclass(factory, nn.Module):
            raise RefusedError(f"it defines no class {cls} that is an nn.Module")
        if init is None:
            seed_all(seed)
            init, tensors = flatten(self._function("get_init_inputs")())
            if tensors or init["k"] not in ("list", "tuple"):
                raise RefusedError(
                    "get_init_inputs() must return a list of plain values, without tensors"
                )
        seed_all(seed)
        model = factory(*unflatten(init, []))
        model = model.to(self.window.device)
        self.models = {Mode.WORKING: model}
        twin = double_twin(model) if double else None
        if twin is not None:
            self.models[Mode.DOUBLE] = twin
        state = named_state(model)
        if compiled:
            self.models[Mode.WORKING] = cast(nn.Module, torch.compile(model))
        self._save_state()
        return {
            "init": init,
            "double": twin is not None,
            "state": [{"name": name, **spec(t)} for name, t in state],
        }

    def draw(self, memories: list[SharedMemory], seed: int) -> dict[str, Any]:
        """Call `get_inputs()` under a seed and keep what it returns, on the CPU."""
        seed_all(seed)
        tree, tensors = flatten(self._function("get_inputs")())
        if tree["k"] not in ("list", "tuple"):
            raise RefusedError("get_inputs() must return a list")
        self.drawn = [tensor.detach().cpu().contiguous() for tensor in tensors]
        return {"tree": tree, "tensors": [spec(tensor) for tensor in self.drawn]}

    def export_drawn(self, memories: list[SharedMemory], offsets: list[int]) -> dict[str, Any]:
        """Copy the drawn inputs into the judge's memory."""
        export(memories[0], self.drawn, offsets)
        return {}

    def export_state(self, memories: list[SharedMemory], offsets: list[int]) -> dict[str, Any]:
        """Copy parameters and buffers into the judge's memory."""
        state = [tensor for _, tensor in named_state(self.models[Mode.WORKING])]
        export(memories[0], state, offsets)
        return {}

    def load_state(self, memories: list[SharedMemory], offsets: list[int]) -> dict[str, Any]:
        """Take parameters and buffers from the judge's memory, for every twin."""
        for model in self.models.values():
            state = named_state(model)
            working = named_state(self.models[Mode.WORKING])
            for (_, target), (_, like), offset in zip(state, working, offsets, strict=True):
                described = spec(like)
                source = view(memories[0], described["shape"], described["dtype"], offset)
                with torch.no_grad():
                    target.copy_(source)
        self.window.synchronize()
        self._save_state()
        return {}

    def bind(
        self,
        memories: list[SharedMemory],
        tree: dict[str, Any],
        tensors: list[dict[str, Any]],
        offsets: list[int],
        key: int,
    ) -> dict[str, Any]:
        """Learn the structure of the inputs, and where their bytes will lie; those that lie
        there now, under `key`, are for calls that nobody times."""
        self.window.adopt(memories[0])
        self.calls.bind(memories[0], tree, tensors, offsets)
        self.calls.stage()
        self.calls.upload(key)
        self.calls.old = [tensor.clone() for tensor in self.calls.inputs]
        return {}

    def probe(self, memories: list[SharedMemory], mode: int, seed: int) -> dict[str, Any]:
        """Call once on the first inputs, and describe what comes back."""
        state = [tensor for _, tensor in named_state(self.models[Mode.WORKING])]
        synchronized_copy(self.window, self.calls.inputs, self.calls.old)
        seed_all(seed)
        tree, tensors = flatten(self._call(Mode(mode)))
        self.window.synchronize()
        quirks = lazy(tensors) | shared(tensors, self.calls.inputs, state)
        self._restore_state()
        return {
            "tree": tree,
            "tensors": [spec(tensor) for tensor in tensors],
            "quirks": sorted(quirks),
        }

    def work(
        self, memories: list[SharedMemory], generated: list[int], reads: bool
    ) -> dict[str, Any]:
        """Count what a call cannot avoid, where the inputs named hold values without structure;
        `reads`: also what it has to read."""
        synchronized_copy(self.window, self.calls.inputs, self.calls.old)
        model = self.models[Mode.WORKING]
        given = [self.calls.inputs[index] for index in generated]
        given += [tensor for _, tensor in named_state(model)]
        seed_all(0)
        count = multiplications(
            lambda: uncompiled(model)(*self.calls.arguments(Mode.WORKING)), given
        )
        self._restore_state()
        shares = [0.0] * len(self.calls.inputs)
        double = self.models.get(Mode.DOUBLE)
        if reads and double is not None:
            wide = self.calls.inputs_for(Mode.DOUBLE)
            shares = shares_read(lambda leaves: double(*unflatten(self.calls.tree, leaves)), wide)
            self._restore_state()
        return {"multiplications": count, "shares": [shares[index] for index in generated]}

    def expect(
        self,
        memories: list[SharedMemory],
        tree: dict[str, Any],
        tensors: dict[str, list[dict[str, Any]]],
        offsets: dict[str, list[int]],
        quirks: list[list[Any]],
    ) -> dict[str, Any]:
        """Learn what results must look like, and where their bytes go, by mode."""
        self.window.adopt(memories[0])
        self.calls.expect(memories[0], tree, tensors, offsets, quirks)
        return {}

    def start_watch(self, memories: list[SharedMemory]) -> dict[str, Any]:
        """From now on, note what the time of each call goes to."""
        if self.watch is None:
            self.watch = open_watch(self.window.device, self.registered, self.library)
        self.watching = self.watch
        return {}

    def activities(self, memories: list[SharedMemory]) -> dict[str, Any]:
        """What was noted; ends the watch."""
        assert self.watching is not None
        watch, self.watching = self.watching, None
        return {"calls": watch.report()}

    # --- over the page ---------------------------------------------------------------------

    def serve_calls(self, memories: list[SharedMemory]) -> dict[str, Any]:
        """Follow the page call by call until the judge leaves call mode."""
        words = self.page.words
        last = words.call
        self.channel.send({"serving": True})
        gc.collect()
        gc.disable()
        while True:
            last = self._await_change("call", last)
            if last == LEAVE:
                break
            self._serve_call(last)
        gc.enable()
        return {"left": True}

    def _serve_call(self, number: int) -> None:
        words = self.page.words
        if words.recall:
            self._export(Mode.WORKING, self.kept, everything=False)
            self.kept = []
            words.exported = number
            return
        mode = Mode(words.mode)
        result: Any = None
        try:
            # The collector is off while calls are timed; this frees what a program left in cycles.
            gc.collect(0 if number % _FULL_COLLECTION_EVERY else 2)
            if words.renew:
                self.calls.allocate()
            if self.watching is not None:
                self.watching.prepare()
            if mode is Mode.WORKING:
                self._warm_up()
            if words.restore:
                self._restore_state()
            seed_all(words.seed)
            self.window.prepare()
            self.calls.stage()
            self.window.synchronize()
            words.ready = number
            self._await_value("go", number)
            self.calls.upload(words.key)
            self.window.synchronize()
            model, arguments = self.models[mode], self.calls.arguments(mode)
            with torch.no_grad():
                words.loaded = number
                result, claimed_ns = self._time(lambda: model(*arguments))
                words.synced = number
            if (fault := self.window.fault()) is not None:
                raise DeviceFaultError(f"forward() passed over {fault}")
            tensors = self.calls.check(result, mode)
            digests = digest(tensors), digest(self.calls.inputs)
            words.digest, words.inputs_digest = map(int, digests)
            words.claimed_ns = claimed_ns
            words.status = Status.OK
        except Exception as error:  # noqa: BLE001 - foreign code may raise anything
            self._report(error)
        words.done = number
        self._await_value("export", number)
        if words.status == Status.OK:
            self._hand_over(mode, tensors)
        words.exported = number

    def _hand_over(self, mode: Mode, outputs: list[Tensor]) -> None:
        """Give the judge what it asks for, and look at what the call did to memory."""
        words = self.page.words
        everything = words.what == What.EVERYTHING
        self._export(mode, outputs, everything)
        if words.keep:
            self.kept = outputs
        try:
            self.calls.check_bounds()
            if everything and mode is Mode.WORKING:
                state = [tensor for _, tensor in named_state(self.models[mode])]
                self.calls.check_sharing(outputs, state)
        except RefusedError as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        described = failure(error)
        self.page.set_text(described["message"])
        self.page.words.status = Status[described["kind"]]

    def _time(self, call: Callable[[], Any]) -> tuple[Any, int]:
        if self.watching is not None:
            return self.watching.time(self.window, call)
        return self.window.time(call)

    def _call(self, mode: Mode) -> Any:
        with torch.no_grad():
            return self.models[mode](*self.calls.arguments(mode))

    def _warm_up(self) -> None:
        """Do all of a call, untimed, on values that no call is judged by.

        Without it, whichever program ran last is faster: on a CPU A/A gave 0.75 at 120 us, and on
        a GPU the wall times of two equal programs differed by 0.14 ms.
        """
        with torch.no_grad():
            result = self.models[Mode.WORKING](*self.calls.old_arguments())
        self.window.synchronize()
        int(digest(self.calls.check(result, Mode.WORKING)))

    def _export(self, mode: Mode, outputs: list[Tensor], everything: bool) -> None:
        results = self.calls.results
        assert results is not None
        export(results, outputs, self.calls.result_offsets[mode.name])
        if everything:
            export(results, self.calls.inputs, self.calls.result_offsets["inputs"])
            state = [tensor for _, tensor in named_state(self.models[Mode.WORKING])]
            export(results, state, self.calls.result_offsets["state"])
        self.window.synchronize()

    def _await_change(self, word: str, last: int) -> int:
        words, spins = self.page.words, 0
        while (value := getattr(words, word)) == last:
            spins += 1
            if spins > _SPINS:
                time.sleep(_NAP_S if spins < _SPINS + _IDLE_AFTER else _IDLE_NAP_S)
        return int(value)

    def _await_value(self, word: str, value: int) -> None:
        words, spins = self.page.words, 0
        while getattr(words, word) != value:
            spins += 1
            if spins > 100 * _SPINS:
                time.sleep(_NAP_S)

    # --- state -----------------------------------------------------------------------------

    def _save_state(self) -> None:
        self.saved = {
            mode: [tensor.detach().clone() for _, tensor in named_state(model)]
            for mode, model in self.models.items()
        }

    def _restore_state(self) -> None:
        with torch.no_grad():
            for mode, model in self.models.items():
                targets = [tensor for _, tensor in named_state(model)]
                synchronized_copy(self.window, targets, self.saved[mode])

    def _function(self, name: str) -> Any:
        function = getattr(self.module, name, None)
        if not callable(function):
            raise RefusedError(f"it defines no function {name}()")
        return function


def double_twin(model: nn.Module) -> nn.Module | None:
    """A copy of a model in float64; None where it cannot be copied or converted."""
    try:
        return copy.deepcopy(model).double()
    except (RuntimeError, TypeError, NotImplementedError):
        return None


def named_state(model: nn.Module) -> list[tuple[str, Tensor]]:
    """Parameters and buffers by name, each tensor once."""
    model = uncompiled(model)
    return [*model.named_parameters(), *model.named_buffers()]


def uncompiled(model: nn.Module) -> nn.Module:
    """The model that torch.compile was given, or the model itself."""
    return cast(nn.Module, getattr(model, "_orig_mod", model))


def export(memory: SharedMemory, tensors: list[Tensor], offsets: list[int]) -> None:
    """Copy tensors into shared memory as contiguous bytes."""
    for tensor, offset in zip(tensors, offsets, strict=True):
        described = spec(tensor)
        view(memory, described["shape"], described["dtype"], offset).copy_(tensor.detach())


def seed_all(seed: int) -> None:
    """Seed every generator that a program may use."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)


def serve(channel: Channel, page_fd: int, device: str) -> int:
    """Run one runner to its end; the exit status."""
    page = ControlPage(SharedMemory.adopt(page_fd))
    return Runner(channel, page, open_window(device)).serve()
