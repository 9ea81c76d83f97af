"""Plays an agent at work: runs its tool calls for real on a copy of the workbench, and keeps what was said."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WORKBENCH = Path(__file__).resolve().parent / "workbench"
HOME = "/home/user"
PROJECT = HOME + "/lantern"

# What differs from run to run, or from machine to machine, and what stands in its place.
VOLATILE = [
    (re.compile(r"Ran (\d+) tests? in [0-9.]+s"), lambda m: "Ran %s tests in 0.1%02ds" % (m[1], int(m[1]) % 100)),
    (re.compile(r"\btmp[a-z0-9_]{8}\b"), lambda m: "tmpk3x9w2ab"),
    (re.compile(r"\.lantern-[a-z0-9_]{8}\b"), lambda m: ".lantern-q7m2x5ka"),
    (re.compile(r"^((?:---|\+\+\+) \S+)\t\d{4}-.*$", re.M), lambda m: m[1]),
    (re.compile(r'"[^"\n]*/lib/python3\.\d+/'), lambda m: '"/usr/lib/python3/'),
    (re.compile(r"0x[0-9a-f]{8,16}"), lambda m: "0x7f3a5c0e41d0"),
]


class Output:
    """What one tool call gave: a text, perhaps an image, and whether it failed."""

    def __init__(self, text, failed=False, image=None):
        self.text = text
        self.failed = failed
        self.image = image


class Bench:
    """A temporary copy of the workbench, with another beside it that stays as it was."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="bench-"))
        self.project = self.root / "lantern"
        shutil.copytree(WORKBENCH, self.project)
        shutil.copytree(WORKBENCH, self.root / "lantern.orig")
        (self.root / "tmp").mkdir()
        (self.root / "bin").mkdir()
        (self.root / "bin" / "python3").symlink_to(sys.executable)

    def close(self):
        shutil.rmtree(self.root)

    def path(self, name):
        return self.project / name

    def clean(self, text):
        text = text.replace(str(self.root), HOME)
        for pattern, stand_in in VOLATILE:
            text = pattern.sub(stand_in, text)
        return text

    def shell(self, command, **_):
        env = {
            "PATH": "%s:/usr/local/bin:/usr/bin:/bin" % (self.root / "bin"), "HOME": str(self.root),
            "TMPDIR": str(self.root / "tmp"), "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "PYTHONNODEBUGRANGES": "1", "PYTHON_COLORS": "0",
        }
        command = command.replace(HOME, str(self.root))
        done = subprocess.run(["bash", "-c", command], cwd=self.project, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
        text = self.clean(done.stdout.decode("utf-8", "replace")).rstrip("\n")
        if done.returncode:
            text = (text + "\n" if text else "") + "[exit code %d]" % done.returncode
        return Output(text or "(no output)", done.returncode != 0)

    def read(self, path, offset=1, limit=2000, **_):
        if not self.path(path).is_file():
            return Output("error: no such file: %s/%s" % (PROJECT, path), True)
        lines = self.path(path).read_text(encoding="utf-8").splitlines()
        shown = lines[offset - 1:offset - 1 + limit]
        text = "\n".join("%6d\t%s" % pair for pair in enumerate(shown, offset))
        if offset - 1 + len(shown) < len(lines):
            text += "\n(%d more lines)" % (len(lines) - len(shown) - offset + 1)
        return Output(text or "(the file is empty)")

    def search(self, pattern, path="."):
        done = self.shell("grep -rnE -e '%s' %s | sort -t: -k1,1 -k2,2n" % (pattern.replace("'", "'\\''"), path))
        return Output("no matches" if done.text == "(no output)" else done.text, done.failed)

    def edit(self, path, old, new):
        text = self.path(path).read_text(encoding="utf-8")
        times = text.count(old)
        if times != 1:
            what = "not found" if times == 0 else "found %d times, it must be unique" % times
            return Output("error: `old` was %s in %s/%s; nothing was changed" % (what, PROJECT, path), True)
        before = text[:text.index(old)].count("\n")
        text = text.replace(old, new)
        self.path(path).write_text(text, encoding="utf-8")
        first, last = max(0, before - 3), before + new.count("\n") + 4
        lines = text.splitlines()[first:last]
        return Output("edited %s/%s\n" % (PROJECT, path) + "\n".join("%6d\t%s" % pair for pair in enumerate(lines, first + 1)))

    def write(self, path, content):
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(content, encoding="utf-8")
        return Output("wrote %d lines (%d bytes) to %s/%s" % (content.count("\n"), len(content.encode()), PROJECT, path))

    def view(self, path):
        if not self.path(path).is_file():
            return Output("error: no such file: %s/%s" % (PROJECT, path), True)
        return Output("image %s/%s, %d bytes" % (PROJECT, path, self.path(path).stat().st_size), image=self.image(path))

    def image(self, path):
        return base64.b64encode(self.path(path).read_bytes()).decode()

    def todo(self, items):
        return Output("%d items, %d done" % (len(items), sum(item["status"] == "done" for item in items)))


def shell(command, **more):
    return "shell", dict({"command": command}, **more)


def read(path, **more):
    return "read", dict({"path": path}, **more)


def search(pattern, path="."):
    return "search", {"pattern": pattern, "path": path}


def edit(path, old, new):
    return "edit", {"path": path, "old": old, "new": new}


def write(path, content):
    return "write", {"path": path, "content": content}


def view(path):
    return "view", {"path": path}


def todo(*items):
    """`"x done"`, `"> in progress"`, `"- open"`."""
    status = {"x": "done", ">": "in_progress", "-": "pending"}
    return "todo", {"items": [{"text": item[2:], "status": status[item[0]]} for item in items]}


class Session:
    """What was said and done, format-free: see `writers.py` for what becomes of it."""

    def __init__(self, seed):
        self.seed = seed
        self.bench = Bench()
        self.entries = []
        self.calls = 0

    def noise(self, label, count):
        """Bytes that look random and are the same on every run, as base64."""
        data = b""
        while len(data) < count:
            data += hashlib.sha256(("%s/%s/%d" % (self.seed, label, len(data))).encode()).digest()
        return base64.b64encode(data[:count]).decode()

    def user(self, text, image=None, **extra):
        """A message of the user; `image` is base64 of a PNG."""
        self.entries.append({"role": "user", "text": text, "image": image, "extra": extra})

    def say(self, text, think=None):
        """The end of a turn: the agent says something and calls nothing."""
        self.entries.append(self.assistant(text, think, [], False))

    def step(self, text, *calls, think=None, redacted=False, expect_failure=None):
        """The agent calls tools; returns their outputs. A story that turns out otherwise than told is an error."""
        entry = self.assistant(text, think, [], redacted)
        for name, args in calls:
            self.calls += 1
            call_id = self.noise("call%d" % self.calls, 18).replace("+", "A").replace("/", "B")
            output = getattr(self.bench, name)(**args)
            if name in ("edit", "write", "view", "read") and output.failed and not expect_failure:
                raise SystemExit("%s: %s" % (self.seed, output.text))
            if expect_failure is not None and output.failed != expect_failure:
                raise SystemExit("%s: `%s` %r gave: %s" % (self.seed, name, args, output.text[-600:]))
            entry["calls"].append((call_id, name, args, output))
        self.entries.append(entry)
        return [output for _, _, _, output in entry["calls"]]

    def assistant(self, text, think, calls, redacted):
        entry = {"role": "assistant", "text": text, "think": think, "calls": calls, "redacted": None}
        number = len(self.entries)
        if think:
            entry["signature"] = self.noise("signature%d" % number, 150 + len(think) % 200)
        if redacted:
            entry["redacted"] = self.noise("redacted%d" % number, 320)
        return entry
