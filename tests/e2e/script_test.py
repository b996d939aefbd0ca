"""A training loop of one's own, in an image of one's own."""
import subprocess

import pytest

from job import ROOT
from kubectl import wait_until
from nodes import need_kind

IMAGE = "paceline.dev/script:test"
NO_PYTHON = 77
TRAINING_SECONDS = 300
EPOCHS = 50  # Of 30 steps that sleep 0.05 s: long enough for a worker to go and come back.


@pytest.fixture
def script_image():
    need_kind()
    done = subprocess.run([ROOT / "tests/e2e/script/load"], capture_output=True, text=True, timeout=400, check=False)
    if done.returncode == NO_PYTHON:
        pytest.skip(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    return IMAGE


def scripted(name, image, **spec):
    return {
        "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": name},
        "spec": {
            "training": {"globalBatchSize": 50, "learningRate": {"base": 0.1}, "stop": {"maxEpochs": EPOCHS}},
            "workers": {"replicas": 2, "command": ["python3", "train.py"], "workingDir": "/src",
                        "template": {"spec": {"containers": [{"name": "worker", "image": image}]}}},
            "evaluator": {"periodSeconds": 1}, **spec,
        },
    }


# One test, since the image takes two minutes and is wanted once.
@pytest.mark.long
def test_a_script_trains_a_killed_worker_comes_back_and_what_one_raises_is_told(script_image, start_job):
    raising = scripted("raising", script_image, runPolicy={"backoffLimit": 0})
    raising["spec"]["workers"]["command"] = ["python3", "-c", "{}['no such column']"]
    raised = start_job(raising)
    job = start_job(scripted("mine", script_image))
    message = raised.wait_for("Failed", 120)["message"]
    assert "KeyError: 'no such column'" in message, message

    job.wait_for("Running", 120)
    job.wait_for_step(20, 120)
    victim = job.uids("worker")["mine-worker-1"]
    job.namespace.kubectl("delete", "pod", "mine-worker-1", "--grace-period=0", "--force")
    job.wait_for_another("mine-worker-1", victim, 120)
    job.wait_for("Succeeded", TRAINING_SECONDS)
    job.assert_every_sample_counted_once(EPOCHS)
    assert job.final_state()["evaluation"]["accuracy"] > 0.8, job.describe()
    wait_until("the script's last line", lambda: "the script ends" in job.namespace.kubectl("logs", "mine-worker-0"), 30)
