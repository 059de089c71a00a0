"""Ties the host half of a split CUDA build to its device half, between the passes and the link.

A host object's stubs are the functions that call `__cudaPopCallConfiguration`
(headers/common/launch.h); its shadow variables are those in two sections of their own. Each must
have its kernel or variable, under the same mangled name, in the fat binary of the same source.
Where one has not, the module would load and then fail at its first launch, so the split build is
left (`Unit.missing`).

`fatbin_assembly` writes the tables from which headers/runtime/launch_runtime.cpp registers all
of it when the module is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reward_service.build.elf import FUNCTION, LOCAL, MAGIC, OBJECT, Image, MalformedError, Symbol

_CUDA_MACHINE = 190
_ENTRY = 0x10
"""Set in `other` of a kernel's symbol."""
_VARIABLE_SECTIONS = (".bss.rs_variables", "rs_variables")
_CONSTANT = ".nv.constant3"
_DEVICE = (_CONSTANT, ".nv.global", ".nv.global.init")
_POP = "__cudaPopCallConfiguration"
_ASSEMBLER_NAME = re.compile(r"[A-Za-z_.$][\w.$]*", re.ASCII)
_FILE_NAME = re.compile(r"[\w./+-]+", re.ASCII)


@dataclass(frozen=True)
class DeviceSide:
    """What a fat binary holds in every architecture that it has."""

    kernels: frozenset[str]
    variables: frozenset[str]
    constants: frozenset[str]
    """Those of `variables` that are in constant memory."""


@dataclass(frozen=True)
class Variable:
    """A host variable that stands for a device variable; `size` in bytes."""

    name: str
    size: int
    constant: bool


@dataclass(frozen=True)
class Unit:
    """One CUDA source: its fat binary and what its object registers."""

    fatbin: str
    """The file's name, as `.incbin` is to find it."""
    kernels: tuple[str, ...]
    variables: tuple[Variable, ...]
    missing: tuple[str, ...]
    """Stubs and variables of the object that the fat binary lacks, or that cannot be linked to, and
    kernels that have become no stubs."""


def device_side(fatbin: bytes) -> DeviceSide:
    """Kernels and variables of an uncompressed fat binary; raises `MalformedError`."""
    images = [image for _, image in cubins(memoryview(fatbin))]
    if not images:
        raise MalformedError("a fat binary without device code")
    found = []
    for image in images:
        kernels, variables, constants = set(), set(), set()
        for symbol in image.symbols:
            section = image.section_of(symbol)
            if section is None:
                continue
            if is_kernel(symbol):
                kernels.add(symbol.name)
            elif symbol.kind == OBJECT and section.name in _DEVICE:
                variables.add(symbol.name)
                if section.name == _CONSTANT:
                    constants.add(symbol.name)
        found.append((kernels, variables, constants))
    return DeviceSide(*(frozenset(set.intersection(*sets)) for sets in zip(*found, strict=True)))


def cubins(data: memoryview) -> Iterator[tuple[int, Image]]:
    """Every uncompressed image of device code in the data, with its offset there."""
    whole = bytes(data)
    at = whole.find(MAGIC)
    while at >= 0:
        image = Image(data[at:])
        if image.machine == _CUDA_MACHINE:
            yield at, image
        at = whole.find(MAGIC, at + len(MAGIC))


def is_kernel(symbol: Symbol) -> bool:
    """Whether a symbol of device code can be launched."""
    return symbol.kind == FUNCTION and bool(symbol.other & _ENTRY)


def unit(fatbin_name: str, fatbin: bytes, host_object: bytes) -> Unit:
    """Matches the two halves of one source; raises `MalformedError`."""
    device = device_side(fatbin)
    image = Image(memoryview(host_object))
    kernels, variables, missing = [], [], []
    stubs = _stubs(image)
    for name, linkable in sorted(stubs.items()):
        if linkable and name in device.kernels and _ASSEMBLER_NAME.fullmatch(name):
            kernels.append(name)
        else:
            missing.append(name)
    for symbol in image.symbols:
        section = image.section_of(symbol)
        if symbol.kind == FUNCTION and section is not None and symbol.name not in stubs:
            # Where the source says in an unusual way that it is a kernel, the host has its body.
            missing += [symbol.name] if symbol.name in device.kernels else []
        if section is None or symbol.kind != OBJECT or section.name not in _VARIABLE_SECTIONS:
            continue
        known = symbol.name in device.variables and symbol.binding != LOCAL
        if known and _ASSEMBLER_NAME.fullmatch(symbol.name):
            constant = symbol.name in device.constants
            variables.append(Variable(symbol.name, symbol.size, constant))
        else:
            missing.append(symbol.name)
    return Unit(fatbin_name, tuple(kernels), tuple(variables), tuple(missing))


def _stubs(image: Image) -> dict[str, bool]:
    """Name of each stub -> whether other objects can refer to it."""
    uses = set(image.uses(_POP))
    if not uses:
        return {}
    functions: dict[int, list[tuple[int, int, str, bool]]] = {}
    for symbol in image.symbols:
        if symbol.kind == FUNCTION and image.section_of(symbol) is not None:
            functions.setdefault(symbol.section, []).append(
                (symbol.value, symbol.value + symbol.size, symbol.name, symbol.binding != LOCAL)
            )
    found: dict[str, bool] = {}
    for section, offset in uses:
        around = [
            (name, linkable)
            for start, end, name, linkable in functions.get(section, ())
            if start <= offset < end
        ]
        if not around:
            raise MalformedError("a launch outside of any function")
        found.update(around)
    return found


def missing(units: Sequence[Unit]) -> list[str]:
    """Names that some object needs and its fat binary lacks: not empty means the stock build."""
    return sorted({name for each in units for name in each.missing})


def fatbin_assembly(units: Sequence[Unit]) -> str:
    """Assembly text with the fat binaries and the tables of launch_runtime.cpp."""
    lines: list[str] = []
    for number, each in enumerate(units):
        if not _FILE_NAME.fullmatch(each.fatbin):
            raise ValueError(f"not a plain file name: {each.fatbin!r}")
        lines += _image(number, each)
    lines += _table(
        "rs_images",
        [f"rs_wrapper_{n}, rs_kernels_{n}, rs_variables_{n}" for n in range(len(units))],
        3,
        ".data.rel.ro",
    )
    lines += [
        ".hidden rs_images, rs_handles",
        ".globl rs_images, rs_handles",
        '.section .bss.rs_handles,"aw",%nobits',
        ".balign 8",
        f"rs_handles: .zero {8 * max(1, len(units))}",
        '.section .note.GNU-stack,"",%progbits',
    ]
    return "\n".join(lines) + "\n"


def _image(number: int, each: Unit) -> list[str]:
    names = [*each.kernels, *(variable.name for variable in each.variables)]
    texts = [f'rs_name_{number}_{i}: .asciz "{name}"' for i, name in enumerate(names)]
    kernels = [f"{name}, rs_name_{number}_{i}" for i, name in enumerate(each.kernels)]
    variables = [
        f"{variable.name}, rs_name_{number}_{i}, {variable.size}, {int(variable.constant)}"
        for i, variable in enumerate(each.variables, len(each.kernels))
    ]
    return [
        '.section .nv_fatbin,"a",%progbits',
        ".balign 16",
        f'rs_image_{number}: .incbin "{each.fatbin}"',
        '.section .nvFatBinSegment,"aw",%progbits',
        ".balign 8",
        # __fatBinC_Wrapper_t: magic, version, the image, nothing.
        f"rs_wrapper_{number}: .long 0x466243b1, 1",
        f".quad rs_image_{number}, 0",
        '.section .rodata.rs_names,"a",%progbits',
        *texts,
        *_table(f"rs_kernels_{number}", kernels, 2, ".data.rel.ro"),
        *_table(f"rs_variables_{number}", variables, 4, ".data.rel.ro"),
    ]


def _table(label: str, rows: Sequence[str], width: int, section: str) -> list[str]:
    end = ", ".join(["0"] * width)
    return [
        f'.section {section},"aw",%progbits',
        ".balign 8",
        f"{label}:",
        *(f".quad {row}" for row in (*rows, end)),
    ]
