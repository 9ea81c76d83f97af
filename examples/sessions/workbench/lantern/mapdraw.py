"""Draws a world as a PNG: a square for each room, a line for each way. No library but zlib's checksums."""
import struct
import zlib

CELL = 16
PALETTE = [(245, 242, 232), (60, 60, 70), (150, 110, 60), (200, 60, 50)]  # paper, line, room, start
STEP = {"north": (0, -1), "south": (0, 1), "east": (-1, 0), "west": (1, 0)}


def place(world):
    """A grid position for every room that can be reached on one level, by walking from the start."""
    spots = {world.start: (0, 0)}
    queue = [world.start]
    while queue:
        here = queue.pop(0)
        for direction, there in sorted(world.rooms[here].exits.items()):
            if direction in STEP and there not in spots:
                dx, dy = STEP[direction]
                x, y = spots[here]
                spots[there] = (x + dx, y + dy)
                queue.append(there)
    return spots


def overlaps(spots):
    """Pairs of rooms that would be drawn on top of each other."""
    seen = {}
    clashes = []
    for room, spot in spots.items():
        if spot in seen:
            clashes.append((seen[spot], room, spot))
        else:
            seen[spot] = room
    return clashes


def draw(world):
    """The map as rows of palette indices."""
    spots = place(world)
    left = min(x for x, _ in spots.values())
    top = min(y for _, y in spots.values())
    columns = max(x for x, _ in spots.values()) - left + 1
    lines = max(y for _, y in spots.values()) - top + 1
    rows = [[0] * (columns * CELL) for _ in range(lines * CELL)]
    for room, (x, y) in spots.items():
        x0, y0 = (x - left) * CELL, (y - top) * CELL
        for dy in range(4, 12):
            for dx in range(4, 12):
                edge = dy in (4, 11) or dx in (4, 11)
                rows[y0 + dy][x0 + dx] = 1 if edge else (3 if room == world.start else 2)
        for direction in world.rooms[room].exits:
            if direction in STEP:
                dx, dy = STEP[direction]
                for step in range(4, 8):
                    rows[y0 + 8 + dy * step if dy >= 0 else y0 + 7 + dy * step][
                        x0 + 8 + dx * step if dx >= 0 else x0 + 7 + dx * step] = 1
    return rows


def png(rows):
    """A PNG of rows of palette indices, two bits a pixel, not compressed (so the bytes are the same everywhere)."""
    wide = len(rows[0])
    raw = bytearray()
    for row in rows:
        raw.append(0)
        for index in range(0, wide, 4):
            four = (row[index:index + 4] + [0, 0, 0])[:4]
            raw.append(four[0] << 6 | four[1] << 4 | four[2] << 2 | four[3])
    body = b"\x78\x01"
    for start in range(0, len(raw), 65535):
        block = bytes(raw[start:start + 65535])
        last = start + 65535 >= len(raw)
        body += struct.pack("<BHH", last, len(block), len(block) ^ 0xFFFF) + block
    body += struct.pack(">I", zlib.adler32(bytes(raw)))
    head = struct.pack(">IIBBBBB", wide, len(rows), 2, 3, 0, 0, 0)
    colors = b"".join(bytes(color) for color in PALETTE)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"PLTE", colors) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
