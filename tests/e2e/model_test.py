"""The model of a job without a volume: it stays until somebody has it, and what becomes of it is said."""
import hashlib
import json
import math
import subprocess

from digits_test import PARAMETERS, numbers_of
from job import ROOT, digits
from kubectl import run, wait_until

PACELINE = ROOT / "build/release/bin/paceline"
WRITE_STRANGER = ROOT / "build/release/bin/write-stranger"
TRAINING_SECONDS = 300


def fetch(job, *arguments):
    return subprocess.run([PACELINE, "fetch", job.name, "-n", job.namespace.name, *arguments], capture_output=True, text=True,
                          timeout=120, check=False)


def wait_for_model(job, state):
    def has_come():
        model = job.status().get("model", {})
        return model if model.get("state") == state else None
    return wait_until(f"{job.name}: model is {state}", has_come, 60, job.describe)


def test_the_model_is_fetched_and_the_pod_goes(start_job, tmp_path):
    job = start_job(digits(workers={"replicas": 2}, runPolicy={"cleanPodPolicy": "All"}))
    early = fetch(job, "--to", str(tmp_path))
    assert early.returncode == 1 and "is not there yet" in early.stderr
    job.wait_for("Succeeded", TRAINING_SECONDS)
    model = wait_for_model(job, "Available")
    assert model["where"] == "pod digits-ps-0" and model["until"]
    assert f"paceline fetch digits -n {job.namespace.name}" in model["message"]
    # All others have gone, as cleanPodPolicy says, and the one that serves it does not count.
    wait_until("the coordinator's pod alone", lambda: list(job.pods()) == ["digits-ps-0"], 60, job.describe)
    assert job.status()["replicaStatuses"]["parameterServer"].get("active", 0) == 0
    assert model["sha256"] in job.describe()

    path = tmp_path / "digits.safetensors"
    fetched = fetch(job, "--to", str(tmp_path))
    assert fetched.returncode == 0, fetched.stderr
    content = path.read_bytes()
    assert len(content) == model["sizeBytes"] and hashlib.sha256(content).hexdigest() == model["sha256"]
    numbers = numbers_of(path)
    assert len(numbers) == PARAMETERS and all(map(math.isfinite, numbers))
    assert [file.name for file in tmp_path.iterdir()] == ["digits.safetensors"]

    assert wait_for_model(job, "Fetched")["sha256"] == model["sha256"]
    job.wait_for_no_pods(90)
    assert job.condition("Succeeded")["status"] == "True"
    reasons = [reason for reason, _ in job.namespace.events("digits")]
    assert "ModelAvailable" in reasons and "ModelFetched" in reasons
    again = fetch(job, "--to", str(tmp_path / "again"))
    assert again.returncode == 1 and "its model is Fetched" in again.stderr


def mounting(claim, container):
    """A pod's template that has the claim at /stranger."""
    return {"spec": {"volumes": [{"name": "stranger", **claim.source()}],
                     "containers": [{"name": container, "volumeMounts": [{"name": "stranger", "mountPath": "/stranger"}]}]}}


def test_a_strangers_model_is_trained_and_fetched(start_job, shared_claim, tmp_path):
    """Tied weights, BatchNorm, an output that is a tuple, a loss of its own."""
    claim = shared_claim("stranger")
    run(str(WRITE_STRANGER), str(claim.folder / "model.pt"))
    job = start_job(digits(model={"torchScript": "/stranger/model.pt", "loss": "Model"},
                           workers={"replicas": 2, "template": mounting(claim, "worker")},
                           evaluator={"periodSeconds": 1, "template": mounting(claim, "evaluator")}))
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert job.status()["progress"]["metric"] > 0.8
    wait_for_model(job, "Available")
    fetched = fetch(job, "--to", str(tmp_path), "--via", "port-forward")
    assert fetched.returncode == 0, fetched.stderr
    assert f"it goes by kubectl port-forward to pod {job.namespace.name}/digits-ps-0" in fetched.stderr
    data = (tmp_path / "digits.safetensors").read_bytes()
    tensors = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    assert set(tensors) - {"__metadata__"} == {"batches", "encode", "head", "norm_bias", "norm_weight", "running_mean", "running_var"}
    wait_for_model(job, "Fetched")
    assert "EvaluatorGone" not in [reason for reason, _ in job.namespace.events("digits")]


def test_a_model_whose_pod_is_lost_is_called_lost(start_job, tmp_path):
    job = start_job(digits(workers={"replicas": 2}))
    job.wait_for("Succeeded", TRAINING_SECONDS)
    wait_for_model(job, "Available")
    job.namespace.delete("pod", "digits-ps-0", "--wait=false")
    model = wait_for_model(job, "Lost")
    assert "digits-ps-0" in model["message"]
    assert job.condition("Succeeded")["status"] == "True"
    lost = fetch(job, "--to", str(tmp_path))
    assert lost.returncode == 1 and "its model is Lost" in lost.stderr
    assert not list(tmp_path.iterdir())
    # One look: the pod may go between two.
    pod = job.pods().get("digits-ps-0")
    assert pod is None or "deletionTimestamp" in pod["metadata"]
