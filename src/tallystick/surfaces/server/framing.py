"""Strict HTTP/1.1 framing: a request that two programs could cut into pieces differently is refused with 400.

h11 is lenient where older clients were sloppy. What a proxy before us might read in another way is refused here, on the
raw bytes, for the page, the API and MCP alike: lines that end with a bare LF, folded headers, a length that is given
twice or together with `Transfer-Encoding`, and chunk sizes that are not plain hexadecimal. The rest (white space before
a colon, NUL, lengths that are not numbers) h11 refuses by itself.
"""

from __future__ import annotations

import re

import h11
from h11._receivebuffer import ReceiveBuffer

_LENGTHS = (b"content-length", b"transfer-encoding")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,16}(?:;[\t -~]*)?\r\n")
_BARE = re.compile(rb"(?<!\r)\n")


class StrictBuffer(ReceiveBuffer):
    """Hands out the lines of heads, trailers and chunks, if they are written as RFC 9112 says."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines of a head or a trailer, once its end is there."""
        if _BARE.search(self._data[: self._end_of_lines()]):
            raise h11.LocalProtocolError("a line ends without CR")
        lines = super().maybe_extract_lines()
        if lines:
            _check(lines)
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """The line before a chunk."""
        line = super().maybe_extract_next_line()
        if line is not None and not _CHUNK.fullmatch(line):
            raise h11.LocalProtocolError("not the size of a chunk")
        return line

    def _end_of_lines(self) -> int:
        """Where the head or trailer ends; the end of what is there, if that has not come yet."""
        at = 0 if self._data.startswith(b"\r\n") else self._data.find(b"\r\n\r\n")
        return len(self._data) if at < 0 else at


def _check(lines: list[bytearray]) -> None:
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise h11.LocalProtocolError("a folded header")
    lengths = [name for line in lines if (name := bytes(line.partition(b":")[0]).lower()) in _LENGTHS]
    if len(lengths) > 1:
        raise h11.LocalProtocolError("the length is given twice")
    if b"transfer-encoding" in lengths and not lines[0].endswith(b" HTTP/1.1"):
        raise h11.LocalProtocolError("only HTTP/1.1 has chunks")
