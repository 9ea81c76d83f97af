"""An append-only record of what was typed and what came of it, one JSON object a line."""
import json


class Journal:
    """Keeps entries in memory, and in a file if there is one."""

    def __init__(self, path=None):
        self.path = path
        self.entries = []

    def add(self, turn, line, replies, error=None):
        entry = {"turn": turn, "line": line, "replies": replies}
        if error:
            entry["error"] = error
        self.entries.append(entry)
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def errors(self):
        return [entry for entry in self.entries if "error" in entry]


def read_journal(path):
    """The entries of a journal file."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]
