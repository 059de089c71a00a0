"""A small reader of 64-bit little-endian ELF images: sections, symbols, relocations.

The images come from compiling foreign code, so every offset and count is checked against the
data; what does not fit raises `MalformedError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

MAGIC = b"\x7fELF\x02\x01"
LOCAL = 0
OBJECT, FUNCTION = 1, 2
_SYMBOL_TABLE, _RELOCATIONS_WITH_ADDEND, _NO_BITS = 2, 4, 8
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MOST_SECTIONS = 1 << 18
_RESERVED = 0xFF00


class MalformedError(Exception):
    """The bytes are not the file that they should be."""


@dataclass(frozen=True)
class Section:
    """A section header; `offset` is from the start of the image, in bytes."""

    name: str
    kind: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    """An entry of the symbol table; `value` is an offset in its section, `size` in bytes."""

    name: str
    kind: int
    binding: int
    other: int
    section: int
    value: int
    size: int


class Image:
    """One ELF image, which may be followed by other data."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        header = self._unpack(_HEADER, 0)
        if bytes(data[:6]) != MAGIC:
            raise MalformedError("not a 64-bit little-endian ELF image")
        self.machine: int = header[2]
        self._table: int = header[6]
        self._count: int = header[12]
        self._names: int = header[13]
        if header[11] != _SECTION.size:
            raise MalformedError("section headers of an unknown size")

    def _unpack(self, layout: struct.Struct, offset: int) -> tuple[int, ...]:
        if offset < 0 or offset + layout.size > len(self._data):
            raise MalformedError("an ELF structure beyond the end of the data")
        return layout.unpack_from(self._data, offset)

    def contents(self, section: Section) -> memoryview:
        """The bytes of a section."""
        if section.kind == _NO_BITS or section.offset + section.size > len(self._data):
            raise MalformedError("a section beyond the end of the data")
        return self._data[section.offset : section.offset + section.size]

    @cached_property
    def sections(self) -> list[Section]:
        """All sections, in order."""
        count, names = self._count, self._names
        if count == 0:  # more than fit the header's field
            first = self._unpack(_SECTION, self._table)
            count, names = first[5], first[6] if names == 0xFFFF else names
        if not 0 < count <= _MOST_SECTIONS or names >= count:
            raise MalformedError("no sections, or too many")
        raw = [self._unpack(_SECTION, self._table + i * _SECTION.size) for i in range(count)]
        strings = self.contents(self._section("", raw[names]))
        return [self._section(_string(strings, each[0]), each) for each in raw]

    @staticmethod
    def _section(name: str, raw: tuple[int, ...]) -> Section:
        return Section(name, raw[1], raw[4], raw[5], raw[6], raw[7])

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbol table, in order."""
        for section in self.sections:
            if section.kind == _SYMBOL_TABLE:
                return list(self._symbols(section))
        return []

    def _symbols(self, section: Section) -> Iterator[Symbol]:
        if section.link >= len(self.sections):
            raise MalformedError("a symbol table without names")
        strings = self.contents(self.sections[section.link])
        data = self.contents(section)
        for name, info, other, index, value, size in _SYMBOL.iter_unpack(
            data[: len(data) // _SYMBOL.size * _SYMBOL.size]
        ):
            if index == 0xFFFF:
                raise MalformedError("more sections than this reader knows")
            yield Symbol(_string(strings, name), info & 15, info >> 4, other, index, value, size)

    def section_of(self, symbol: Symbol) -> Section | None:
        """Where a symbol is defined; None if it is not defined here."""
        if symbol.section == 0 or symbol.section >= _RESERVED:
            return None
        if symbol.section >= len(self.sections):
            raise MalformedError("a symbol in no section")
        return self.sections[symbol.section]

    def uses(self, name: str) -> Iterator[tuple[int, int]]:
        """(section, offset in it) of each place that refers to the symbol `name`."""
        wanted = {index for index, symbol in enumerate(self.symbols) if symbol.name == name}
        if not wanted:
            return
        for section in self.sections:
            if section.kind != _RELOCATIONS_WITH_ADDEND:
                continue
            data = self.contents(section)
            for offset, info, _ in _RELOCATION.iter_unpack(
                data[: len(data) // _RELOCATION.size * _RELOCATION.size]
            ):
                if info >> 32 in wanted:
                    yield section.info, offset


def _string(strings: memoryview, offset: int) -> str:
    if offset > len(strings):
        raise MalformedError("a name beyond the end of the string table")
    # Names have no fixed bound; the table is searched in slices, not copied whole for each.
    piece = bytes(strings[offset : offset + 256])
    end = piece.find(0)
    if end < 0:
        rest = bytes(strings[offset:])
        end = rest.find(0)
        if end < 0:
            raise MalformedError("a name that does not end")
        piece = rest
    return piece[:end].decode("utf-8", "surrogateescape")
