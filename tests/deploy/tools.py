"""What the tests of deploy/ and charts/ share: the repository, kubectl, helm, skipping with a reason."""
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from eventually import eventually  # noqa: E402

SKIPPED = 77

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not installed (tools/setup)", file=sys.stderr)
    sys.exit(SKIPPED)

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paceline/cluster"


def find(program):
    """A program of PATH or of the cluster cache; None if there is none."""
    places = [str(folder) for folder in sorted(CACHE.glob("k8s-*/bin"), reverse=True)]
    return shutil.which(program) or shutil.which(program, path=os.pathsep.join(places))


def need(program, how):
    """The program, or the end of this whole test: call it while a module is loaded, since unittest takes an exit within a test
    for an error."""
    found = find(program)
    if found is None:
        print(f"skipped: there is no {program} ({how})", file=sys.stderr)
        sys.exit(1 if os.environ.get("PACELINE_REQUIRE_CLUSTER") == "1" else SKIPPED)
    return found


def run(*command, text=None, deadline=120):
    """Runs it; (exit code, stdout, stderr)."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=deadline, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def must(*command, text=None):
    code, out, errors = run(*command, text=text)
    if code != 0:
        raise AssertionError(f"{' '.join(command)} ended with {code}:\n{out}{errors}")
    return out


def kubectl(*arguments, text=None):
    return must("kubectl", *arguments, text=text)


def start(*command, log, **options):
    """A process that goes on, with all its output in the file `log`."""
    with log.open("w") as output:
        return subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)


def wait_until(what, seconds, is_so, diagnose):
    if not eventually(is_so, seconds):
        raise AssertionError(f"{what}: not within {seconds} s\n{diagnose()}")


def documents(text):
    # libyaml's reader, where it is there: the CRD alone takes the other one seconds.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [document for document in yaml.load_all(text, Loader=loader) if document]


def load(path):
    return documents((ROOT / path).read_text())


def main():
    unittest.main(verbosity=2)
