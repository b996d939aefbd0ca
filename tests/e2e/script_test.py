"""A training loop of one's own, in an image of one's own."""
import os
import re
import selectors
import subprocess

import pytest
import tutorial
import yaml

from job import ROOT, Job
from kubectl import kubectl, run, wait_until
from nodes import need_kind

IMAGE = tutorial.manifest()["spec"]["workers"]["template"]["spec"]["containers"][0]["image"]
NO_PYTHON = 77
LOAD_SECONDS = 900  # Of an image with PyTorch into three nodes, which a busy machine takes minutes for.
TRAINING_SECONDS = 400
EPOCHS = 30  # Of 30 steps of 0.05 s: long enough for a worker to go and come back.
PACE = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.05}]}
# Three jobs, each with PyTorch to be imported by four processes: behind two other tests a step takes 0.2 s instead of 0.06.
TEST_SECONDS = 1200


@pytest.fixture
def script_image():
    need_kind()
    done = subprocess.run([ROOT / "tests/e2e/script/load"], capture_output=True, text=True, timeout=LOAD_SECONDS, check=False)
    if done.returncode == NO_PYTHON:
        pytest.skip(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return IMAGE


def scripted(name, image, **spec):
    return {
        "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name},
        "spec": {
            "training": {"globalBatchSize": 50, "learningRate": {"base": 0.1}, "stop": {"maxEpochs": EPOCHS}},
            "workers": {"replicas": 2, "command": ["python3", "train.py"], "workingDir": "/own",
                        "template": {"spec": {"containers": [{"name": "worker", "image": image}]}}},
            "evaluator": {"periodSeconds": 1}, "chaos": PACE, **spec,
        },
    }


class Walk:
    """docs/tutorial.md's part for a cluster, its commands typed where its files lie and the namespace is the user's."""

    def __init__(self, namespace, folder):
        self.namespace, self.folder = namespace, folder
        (folder / "job.yaml").write_text(yaml.safe_dump(tutorial.manifest()))
        config = folder / "kubeconfig"
        config.write_text(kubectl("config", "view", "--raw", "--minify", "--flatten"))
        run("kubectl", "--kubeconfig", str(config), "config", "set-context", "--current", f"--namespace={namespace.name}")
        self.environment = {**os.environ, "KUBECONFIG": str(config), "PATH": f"{ROOT}/build/release/bin:{os.environ['PATH']}"}

    def type(self, command):
        done = subprocess.run(["bash", "-euc", command], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def watch(self, command, until, deadline_seconds):
        """Until a line of what it prints has that, as somebody who then ends it."""
        with subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              text=True) as process, selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            said = ""
            try:
                while until not in said:
                    assert selector.select(deadline_seconds), f"{command}: nothing for {deadline_seconds} s after\n{said}"
                    part = os.read(process.stdout.fileno(), 4096).decode()
                    assert part, f"{command} ended: {said}"
                    said += part
            finally:
                process.kill()
            return said

    def go(self):
        apply, watch, top, fetch = tutorial.commands()
        assert "trainingjob.paceline.dev/spiral created" in self.type(apply)
        self.watch(watch, "Succeeded", TRAINING_SECONDS)
        assert re.match(rf"{self.namespace.name}/spiral: Succeeded", self.type(top))
        said = self.type(fetch)
        assert list(self.folder.rglob("*.safetensors")), said


# One test, since the image takes two minutes and is wanted once.
@pytest.mark.long
@pytest.mark.timeout(TEST_SECONDS)
def test_a_script_trains_a_killed_worker_comes_back_and_what_one_raises_is_told(script_image, start_job, namespace, tmp_path):
    Walk(namespace, tmp_path).go()
    assert Job(namespace, "spiral").final_state()["evaluation"]["accuracy"] > 0.6

    raising = scripted("raising", script_image, runPolicy={"backoffLimit": 0})
    raising["spec"]["workers"]["command"] = ["python3", "-c", "{}['no such column']"]
    raised = start_job(raising)
    job = start_job(scripted("mine", script_image))
    message = raised.wait_for("Failed", 120)["message"]
    assert "KeyError: 'no such column'" in message, message

    job.wait_for("Running", 120)
    job.wait_for_step(20)
    victim = job.uids("worker")["mine-worker-1"]
    job.namespace.kubectl("delete", "pod", "mine-worker-1", "--grace-period=0", "--force")
    job.wait_for_another("mine-worker-1", victim)
    job.wait_for("Succeeded", TRAINING_SECONDS)
    job.assert_every_sample_counted_once(EPOCHS)
    assert job.final_state()["evaluation"]["accuracy"] > 0.8, job.describe()
    wait_until("the script's last line", lambda: "the script ends" in job.namespace.kubectl("logs", "mine-worker-0"), 60)
