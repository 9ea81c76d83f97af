"""What a played session looked like, from its journal."""
from collections import Counter

from .layout import table


def percentile(values, share):
    """The value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[int(len(ordered) * share)]


def verbs(entries):
    """How often each first word was typed, most often first."""
    counts = Counter(entry["line"].split()[0].lower() for entry in entries)
    return counts.most_common()


def shares(counts):
    """Counts as whole percentages."""
    total = sum(count for _, count in counts)
    return [(name, count * 100 // total) for name, count in counts]


def summary(entries):
    """A report as text."""
    lengths = [len(" ".join(entry["replies"])) for entry in entries]
    errors = [entry for entry in entries if "error" in entry]
    out = ["lines typed     %d" % len(entries),
           "errors          %d" % len(errors),
           "reply, median   %d characters" % percentile(lengths, 0.5),
           "reply, p95      %d characters" % percentile(lengths, 0.95),
           "reply, longest  %d characters" % percentile(lengths, 1.0), ""]
    counts = verbs(entries)
    rows = [(name, count, share) for (name, count), (_, share) in zip(counts, shares(counts))]
    out.append(table(rows, ["verb", "times", "%"]))
    if errors:
        kinds = Counter(entry["error"].split()[1] for entry in errors)
        out += ["", table(kinds.most_common(), ["error", "times"])]
    return "\n".join(out)
