"""Copies of recordings: entries written to a folder of their own."""

from collections.abc import Iterable
from pathlib import Path

from moorage.config.field_errors import InputError
from moorage.recording.entries import Entry, encode
from moorage.recording.journal import FRAME_BYTES, frame
from moorage.recording.segments import Compressor, SegmentWriter, segments_in


def write_recording(folder: Path, entries: Iterable[Entry]) -> int:
    """Write entries as a recording; how many they were. InputError where there is one already."""
    if folder.exists() and segments_in(folder):
        raise InputError([f"{folder}: holds a recording already; name a folder that is empty"])
    writer, compressor = SegmentWriter(folder), Compressor(level=9)
    waiting, size, count = list[bytes](), 0, 0
    for entry in entries:
        encoded = encode(entry)
        waiting.append(encoded)
        size, count = size + len(encoded), count + 1
        if size >= FRAME_BYTES:
            writer.write(compressor.compress(frame(waiting)))
            waiting, size = [], 0
    if waiting:
        writer.write(compressor.compress(frame(waiting)))
    writer.close()
    return count
