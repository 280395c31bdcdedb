"""One member of a zip file, unpacked up to a bound.

`zipfile` unpacks what it reads in pieces of 4 kB; of bzip2 and LZMA such a piece may have a hundred megabytes, whatever
size the member claims. So it is asked for the packed bytes alone, and they are unpacked here, where every step is
bounded.
"""

from __future__ import annotations

import bz2
import copy
import lzma
import zipfile
import zlib
from collections.abc import Callable
from typing import Protocol

LARGEST_WINDOW = 2**26  # bytes that LZMA looks back: more than any file that is read has
OVERHEAD = 2**16  # bytes that packing may add to what cannot be made smaller


class BadMember(ValueError):
    """A member that is damaged, or packed in a way that is not known."""


class Decompressor(Protocol):
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def unzipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """The content of a member; of a larger one the first `most + 1` bytes.

    Raises:
        Exception: of a foreign reader, on foreign bytes: it can be anything.
    """
    if info.compress_size > 2 * info.file_size + OVERHEAD:
        raise BadMember("no file grows so much when it is packed")
    raw = copy.copy(info)
    raw.compress_type, raw.file_size, raw.CRC = zipfile.ZIP_STORED, info.compress_size, None  # type: ignore[assignment]
    with archive.open(raw) as member:
        packed = member.read()
    bound = min(info.file_size, most) + 1
    if info.compress_type == zipfile.ZIP_STORED:
        content = packed[:bound]
    elif info.compress_type == zipfile.ZIP_LZMA:
        content = lzma_decompressor(packed).decompress(packed[9:], bound)
    elif info.compress_type in KNOWN:
        content = KNOWN[info.compress_type]().decompress(packed, bound)
    else:
        raise BadMember(f"packed by method {info.compress_type}")
    if len(content) <= most and (len(content) != info.file_size or zlib.crc32(content) != info.CRC):
        raise BadMember("its content is not what the archive says of it")
    return content


def lzma_decompressor(packed: bytes) -> Decompressor:
    """LZMA as zip files have it: two bytes of a version, two of a length that is 5, then the properties."""
    if len(packed) < 9 or packed[2:4] != b"\x05\x00" or packed[4] >= 9 * 5 * 5:
        raise BadMember("its LZMA properties are none")
    rest, lc = divmod(packed[4], 9)
    pb, lp = divmod(rest, 5)
    window = min(int.from_bytes(packed[5:9], "little"), LARGEST_WINDOW)
    filters = [{"id": lzma.FILTER_LZMA1, "dict_size": max(window, 4096), "lc": lc, "lp": lp, "pb": pb}]
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)


KNOWN: dict[int, Callable[[], Decompressor]] = {
    zipfile.ZIP_DEFLATED: lambda: zlib.decompressobj(-zlib.MAX_WBITS),
    zipfile.ZIP_BZIP2: bz2.BZ2Decompressor,
}
