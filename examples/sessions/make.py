"""Makes the sessions of this folder: `python3 examples/sessions/make.py [--check]`.

Python 3 standard library only, no network. Every command that a session shows is really run, on a copy of `workbench/`.
`--check` writes nothing and says which files differ from what would be written.
"""
import hashlib
import json
import sys
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from stories import complete_locales, draw_map, fix_parser, fix_ranks, many_turns, port_storage
from writers import anthropic_messages, anthropic_tools, openai_messages, openai_tools, SYSTEM

RECORDED_WITH = (3, 11)


def port_storage_file():
    """Compact, text as it is."""
    session = port_storage.tell()
    body = {
        "model": "claude-sonnet-4-20250514", "max_tokens": 16000, "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 8000},
        "metadata": {"user_id": "user-3f2a"},
        "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
        "tools": anthropic_tools(), "messages": anthropic_messages(session, cached=(0, -3)),
    }
    return session, json.dumps(body, ensure_ascii=False, separators=(",", ":")) + "\n"


def fix_parser_file():
    """Two blanks deep, text as it is."""
    session = fix_parser.tell()
    body = {"model": "gpt-4o", "messages": openai_messages(session), "tools": openai_tools(), "tool_choice": "auto",
            "parallel_tool_calls": True, "temperature": 0.2, "metadata": {"run": "parser", "attempt": "1"}}
    return session, json.dumps(body, ensure_ascii=False, indent=2) + "\n"


def complete_locales_file():
    """One line with blanks after commas and colons, everything but ASCII escaped."""
    session = complete_locales.tell()
    body = {"model": "claude-sonnet-4-20250514", "max_tokens": 8192, "system": SYSTEM, "tools": anthropic_tools(),
            "tool_choice": {"type": "auto"}, "messages": anthropic_messages(session)}
    return session, json.dumps(body, ensure_ascii=True)


def many_turns_file():
    """One message a line."""
    session = many_turns.tell()
    return session, "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in openai_messages(session))


def fix_ranks_file():
    """Odd: tabs, keys from Z to A, slashes escaped, a number with a zero at its end."""
    session = fix_ranks.tell()
    body = {"model": "gpt-4o-mini", "messages": openai_messages(session), "tools": openai_tools(), "temperature": 0.5, "store": False}
    text = json.dumps(reversed_keys(body), ensure_ascii=False, indent="\t").replace("/", "\\/")
    return session, text.replace('"temperature": 0.5', '"temperature": 0.50') + "\n"


def draw_map_file():
    """One blank deep, keys from Z to A, no newline at the end."""
    session = draw_map.tell()
    body = {"model": "claude-3-5-haiku-20241022", "max_tokens": 4096, "system": SYSTEM, "tools": anthropic_tools(),
            "messages": anthropic_messages(session, cached=(-1,))}
    return session, json.dumps(reversed_keys(body), ensure_ascii=False, indent=1)


def reversed_keys(value):
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in sorted(value, reverse=True)}
    if isinstance(value, list):
        return [reversed_keys(item) for item in value]
    return value


FILES = {
    "anthropic-port-storage.json": port_storage_file,
    "openai-chat-fix-parser.json": fix_parser_file,
    "anthropic-complete-locales.json": complete_locales_file,
    "openai-chat-many-turns.jsonl": many_turns_file,
    "openai-chat-fix-ranks.json": fix_ranks_file,
    "anthropic-draw-map.json": draw_map_file,
}


def main(args):
    if args not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if sys.version_info[:2] != RECORDED_WITH:
        print("note: recorded with Python %d.%d; another version words some tracebacks in another way" % RECORDED_WITH, file=sys.stderr)
    different = 0
    for name, make in FILES.items():
        session, text = make()
        session.bench.close()
        data = text.encode("utf-8")
        if args:
            same = (FOLDER / name).is_file() and (FOLDER / name).read_bytes() == data
            different += not same
            print("%-34s %s" % (name, "same" if same else "differs"))
            continue
        (FOLDER / name).write_bytes(data)
        steps = sum(entry["role"] == "assistant" for entry in session.entries)
        users = sum(entry["role"] == "user" for entry in session.entries)
        print("%-34s %8d bytes  %3d user turns  %3d steps  %3d calls  sha256 %s" % (
            name, len(data), users, steps, session.calls, hashlib.sha256(data).hexdigest()[:16]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
