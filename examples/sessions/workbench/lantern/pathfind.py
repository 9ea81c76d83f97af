"""Ways through a world."""
from collections import deque


def route(world, start, goal, locked=False):
    """The shortest list of directions from one room to another, or `None`. Locked exits count if `locked`."""
    queue = deque([start])
    came = {start: None}
    while queue:
        here = queue.popleft()
        if here == goal:
            break
        for direction, there in sorted(world.rooms[here].exits.items()):
            if direction in world.rooms[here].locked and not locked:
                continue
            if there not in came:
                came[there] = (here, direction)
                queue.append(there)
    if goal not in came:
        return None
    steps = []
    while came[goal]:
        goal, direction = came[goal]
        steps.append(direction)
    return steps[::-1]


def distances(world, start):
    """How many steps every room that can be reached is away from `start`, locked exits included."""
    found = {start: 0}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there in world.rooms[here].exits.values():
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found
