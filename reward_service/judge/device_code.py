"""The kernels in a built module: read from its file by the judge, and emptied for a ghost.

The device code lies in the section `.nv_fatbin` of the module, uncompressed (both rungs of the
build see to that), as ELF images of the device. A kernel is known by its name there, which is the
name that the driver gives it, and by its registers: so a kernel that borrows the name of one of
the library's does not pass the library's off as its own.

`emptied` gives a copy in which each kernel's first instruction is EXIT. That holds however the
kernel comes to be launched (stub, driver, cooperative, captured in a graph) and for both rungs,
where intercepting launches would have to know the runtime's entry points, old and new. EXIT has
been encoded the same since compute capability 7.0.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from reward_service.build.elf import Image, MalformedError, Symbol
from reward_service.build.kernels import cubins, is_kernel

EXIT = struct.pack("<QQ", 0x000000000000794D, 0x000FEA0003800000)
_SECTION = ".nv_fatbin"
_INFO = ".nv.info"
_VALUE_FOLLOWS = 4
_REGISTERS = 0x2F
_ENTRY = struct.Struct("<BBH")
_PAIR = struct.Struct("<II")


def own_kernels(modules: Iterable[bytes]) -> Mapping[str, int]:
    """The name of each kernel, and the registers of its threads; raises `MalformedError`."""
    found: dict[str, int] = {}
    for _, image in (image for module in modules for image in _images(module)):
        registers = dict(_registers(image))
        for index, symbol in enumerate(image.symbols):
            if is_kernel(symbol) and image.section_of(symbol) is not None:
                found[symbol.name] = registers.get(index, 0)
    return found


def emptied(module: bytes) -> bytes:
    """The module with kernels that return at once; raises `MalformedError`."""
    patched = bytearray(module)
    for offset, image in _images(module):
        for symbol in image.symbols:
            if is_kernel(symbol):
                start = offset + _place(image, symbol)
                patched[start : start + len(EXIT)] = EXIT
    return bytes(patched)


def _images(module: bytes) -> Iterator[tuple[int, Image]]:
    """Every image of device code, with its offset in the module."""
    whole = memoryview(module)
    for section in Image(whole).sections:
        if section.name != _SECTION:
            continue
        images = list(cubins(whole[section.offset : section.offset + section.size]))
        if not images:
            raise MalformedError("its device code cannot be read")
        for offset, image in images:
            yield section.offset + offset, image


def _place(image: Image, symbol: Symbol) -> int:
    """The offset of a kernel's first instruction in its image."""
    section = image.section_of(symbol)
    if section is None or symbol.value + len(EXIT) > section.size:
        raise MalformedError("a kernel without code")
    return section.offset + symbol.value


def _registers(image: Image) -> Iterator[tuple[int, int]]:
    """(index of a symbol, registers), from the attributes that the assembler left."""
    for section in image.sections:
        if section.name != _INFO:
            continue
        data, at = image.contents(section), 0
        while at + _ENTRY.size <= len(data):
            form, attribute, size = _ENTRY.unpack_from(data, at)
            at += _ENTRY.size
            if form != _VALUE_FOLLOWS:
                continue
            if attribute == _REGISTERS and at + _PAIR.size <= len(data):
                yield _PAIR.unpack_from(data, at)
            at += size
