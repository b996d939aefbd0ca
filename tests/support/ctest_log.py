"""What the tests of a run of ctest printed, all of it: the XML of its results has only each one's first bytes."""
import re

# tests/run copies LastTest.log to output.log.
LOGGED = re.compile(r'^\d+/\d+ Testing: (?P<name>[^\n]*)\n\d+/\d+ Test: (?P=name)\nCommand: [^\n]*\nDirectory: [^\n]*\n"[^\n]*" start time: '
                    r"[^\n]*\nOutput:\n-{58}\n(?P<output>.*?)<end of output>\nTest time =", re.MULTILINE | re.DOTALL)


def outputs(log):
    """{name: what it printed}, of a test that ran more than once all of it."""
    found = {}
    for match in LOGGED.finditer(log.read_text(errors="replace")):
        found.setdefault(match["name"], []).append(match["output"])
    return {name: "\n".join(parts) for name, parts in found.items()}
