"""Runs jobs whose workers are scripts, with the programs of a build."""
import atexit
import fcntl
import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from eventually import eventually  # noqa: E402

BIN = Path(os.environ.get("PACELINE_BIN", Path(__file__).parents[2] / "build" / "release" / "bin"))
SCRIPTS = Path(__file__).parent / "scripts"
NURSERY = Path(__file__).parent / "nursery.py"
TIMEOUT_S = 240


class Nursery:
    """Where scripts run in processes that have imported PyTorch already (nursery.py); one for all tests of a process."""
    _only = None

    def __init__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="paceline-nursery-")
        self.socket = Path(self.scratch.name) / "socket"
        self.process = subprocess.Popen([sys.executable, str(NURSERY), "--serve", str(self.socket)], stdin=subprocess.PIPE)
        atexit.register(self.end)
        if not eventually(lambda: self.socket.exists() or self.process.poll() is not None, TIMEOUT_S, every_seconds=0.02) or not self.socket.exists():
            raise AssertionError("the nursery did not start")

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.scratch.cleanup()

    @classmethod
    def command(cls):
        """What stands in the place of an interpreter."""
        if cls._only is None:
            cls._only = cls()
        return [sys.executable, "-I", "-S", str(NURSERY), str(cls._only.socket)]


class Ended:
    """A job that is over."""

    def __init__(self, folder, code, out, err):
        self.folder, self.code, self.out, self.err = folder, code, out, err
        self.summary = json.loads(out) if out.strip().startswith("{") else None

    def logs(self):
        """Of all processes, by name."""
        return {path.stem: path.read_text(errors="replace") for path in sorted(self.folder.rglob("*.log"))}

    def worker_logs(self):
        return "\n".join(text for name, text in self.logs().items() if "-worker-" in name or name.endswith("evaluator"))

    def words(self):
        """All that was said, for a test that failed."""
        return f"exit code {self.code}\n{self.err[-3000:]}\n{self.out[-2000:]}\n{self.worker_logs()[-6000:]}"


class Running:
    """A job that is not."""

    def __init__(self, folder, process):
        self.folder, self.process = folder, process

    def workers(self):
        """Processes that the job started to run a script, by the worker's index."""
        return {int(environment["PACELINE_INDEX"]): pid for pid, parent, group, environment in self.processes()
                if parent == self.process.pid and group == pid and environment.get("PACELINE_ROLE") == "worker"}

    def processes(self):
        """(pid, parent, group, environment) of all that work in this folder, whoever started them and whoever their parent is now."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environment = dict(v.split("=", 1) for v in (entry / "environ").read_text(errors="replace").split("\0") if "=" in v)
                parent, group = (entry / "stat").read_text().rsplit(")", 1)[1].split()[1:3]
            except (OSError, ValueError):
                continue
            if environment.get("PACELINE_FOLDER") == str(self.folder):
                found.append((int(entry.name), int(parent), int(group), environment))
        return found

    def wait_for(self, what, deadline_s=60):
        """Polls `what()` until it gives something."""
        def look():
            found = what()
            if not found and self.process.poll() is not None:
                raise AssertionError(f"the job ended meanwhile: {self.wait().words()}")
            return found
        found = eventually(look, deadline_s, every_seconds=0.02)
        if not found:
            raise AssertionError("waited in vain")
        return found

    def wait(self):
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return Ended(self.folder, self.process.returncode, out, err)


class JobTest(unittest.TestCase):
    """Each test has a folder of its own, where a script `train.py` and what it writes lie."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-python-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def closed_gate(self, name):
        """A locked file: scripts that want a shared lock of it wait until this is closed, at the end of the test at the latest."""
        lock = (self.folder / name).open("w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def script(self, name_or_text):
        text = (SCRIPTS / name_or_text).read_text() if name_or_text.endswith(".py") else textwrap.dedent(name_or_text)
        (self.folder / "train.py").write_text(text)

    def start(self, *overrides, workers=2, evaluator=False, arguments=(), environment=None, interpreter=(sys.executable,),
              options=()):
        job = {
            "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mine"},
            "spec": {
                "training": {"globalBatchSize": 32, "learningRate": {"base": 0.1}, "stop": {"maxEpochs": 2}},
                "workers": {"replicas": workers, "command": [*interpreter, "train.py", *arguments]},
                "runPolicy": {"schedulingPolicy": {"scheduleTimeoutSeconds": TIMEOUT_S}},  # A busy machine imports slowly.
            },
        }
        if evaluator:
            job["spec"]["evaluator"] = {"periodSeconds": "200ms"}
        (self.folder / "job.yaml").write_text(json.dumps(job))
        flags = [part for override in overrides for part in ("--set", override)]
        process = subprocess.Popen(
            [str(BIN / "paceline"), "run", "job.yaml", "-o", "json", *flags, *options], cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **(environment or {})})
        running = Running(self.folder, process)
        self.addCleanup(self._end, process)
        return running

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def run_job(self, *overrides, **options):
        """To its end, with scripts of the nursery unless `interpreter` says another one."""
        return self.start(*overrides, **{"interpreter": Nursery.command(), **options}).wait()

    def assert_every_sample_once(self, ended, epochs):
        """By the lease ledger of the coordinator's last state, and by what the workers' pushes had in them."""
        state = json.loads(next(self.folder.glob("paceline-runs/*/summary.json")).read_text())
        samples = state["trainSamples"]
        self.assertEqual(len(state["epochs"]), epochs, ended.words())
        for epoch in state["epochs"]:
            self.assertEqual([epoch[place] for place in ("committed", "free", "leased", "accumulated", "discarded")],
                             [samples, 0, 0, 0, 0], epoch)
        self.assertEqual(state["committedSamples"], epochs * samples)
        self.assertEqual(sum(worker["samples"] for worker in state["workers"]), epochs * samples)

    def assert_succeeded(self, ended):
        self.assertEqual(ended.code, 0, ended.words())
        self.assertIsNotNone(ended.summary, ended.words())
        return ended.summary
