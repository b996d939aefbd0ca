"""A training loop of one's own, in an image of one's own."""
import pytest

from job import ROOT
from kubectl import run, wait_until
from nodes import need_kind

IMAGE = "paceline.dev/script:test"
TRAINING_SECONDS = 300
EPOCHS = 50  # Of 30 steps that sleep 0.05 s: long enough for a worker to go and come back.


@pytest.fixture(scope="module")
def script_image():
    need_kind()
    run(str(ROOT / "tests/e2e/script/load"), deadline_seconds=400)
    return IMAGE


def scripted(image, epochs, **workers):
    return {
        "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mine"},
        "spec": {
            "training": {"globalBatchSize": 50, "learningRate": {"base": 0.1}, "stop": {"maxEpochs": epochs}},
            "workers": {"replicas": 2, "command": ["python3", "train.py"], "workingDir": "/src",
                        "template": {"spec": {"containers": [{"name": "worker", "image": image}]}}, **workers},
            "evaluator": {"periodSeconds": 1},
        },
    }


@pytest.mark.long
def test_a_script_trains_and_a_killed_worker_comes_back(script_image, start_job):
    job = start_job(scripted(script_image, epochs=EPOCHS))
    job.wait_for("Running", 120)
    job.wait_for_step(20, 120)
    victim = job.uids("worker")["mine-worker-1"]
    job.namespace.kubectl("delete", "pod", "mine-worker-1", "--grace-period=0", "--force")
    job.wait_for_another("mine-worker-1", victim, 120)
    job.wait_for("Succeeded", TRAINING_SECONDS)
    job.assert_every_sample_counted_once(EPOCHS)
    assert job.final_state()["evaluation"]["accuracy"] > 0.8, job.describe()
    said = wait_until("the script's last line", lambda: "the script ends" in job.namespace.kubectl("logs", "mine-worker-0"), 30)
    assert said


def test_what_a_script_raises_is_the_job_s_to_tell(script_image, start_job):
    manifest = scripted(script_image, epochs=1, command=["python3", "-c", "raise RuntimeError('no such column')"])
    manifest["spec"]["runPolicy"] = {"backoffLimit": 0}
    job = start_job(manifest)
    message = job.wait_for("Failed", 120)["message"]
    assert "no such column" in message, message
