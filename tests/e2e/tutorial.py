"""What docs/tutorial.md has for a cluster, as it stands there.

    python3 tutorial.py NAME      prints the file of that name that it has
"""
import re
import sys
from pathlib import Path

import yaml

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
FENCE = re.compile(r"^```(\S+)?(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks():
    """(language, name or "", text) of what stands in grey."""
    return FENCE.findall(TUTORIAL.read_text())


def file(name):
    return next(text for _, called, text in blocks() if called == name)


def manifest():
    """Its job.yaml, with the workers that it names for a cluster."""
    job = yaml.safe_load(file("job.yaml"))
    job["spec"].update(next(yaml.safe_load(text) for language, name, text in blocks() if (language, name) == ("yaml", "")))
    return job


def commands():
    return file("cluster").splitlines()


if __name__ == "__main__":
    print(file(sys.argv[1]), end="")
