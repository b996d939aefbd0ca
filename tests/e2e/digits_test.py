"""The sample job: from kubectl apply to a trained model."""
import json
import math
import struct

from job import ROOT, SAMPLE, Job, digits
from kubectl import run

TRAINING_SECONDS = 300
PARAMETERS = 21_610


def numbers_of(path):
    """All float32 of a safetensors file: the length of its header in 8 bytes, the header as JSON, the tensors."""
    data = path.read_bytes()
    (header_bytes,) = struct.unpack_from("<Q", data)
    tensors = json.loads(data[8:8 + header_bytes])
    tensors.pop("__metadata__", None)
    assert {tensor["dtype"] for tensor in tensors.values()} == {"F32"}
    assert sum(math.prod(tensor["shape"]) for tensor in tensors.values()) * 4 == len(data) - 8 - header_bytes
    return struct.unpack_from(f"<{(len(data) - 8 - header_bytes) // 4}f", data, 8 + header_bytes)


def test_sample_trains_unchanged(start_job):
    job = start_job(SAMPLE)
    job.wait_for("Created", 60)
    job.wait_for("Running", 120)
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert job.status()["progress"]["metric"] >= 0.97
    # All end by themselves, and cleanPodPolicy Running keeps them and their logs; the coordinator stays to serve the model.
    job.wait_for_pods("ps", 1, 60, phase="Succeeded")
    job.wait_for_pods("ps", 1, 60, phase="Running")
    assert job.status()["model"]["state"] == "Available"
    job.wait_for_pods("worker", 4, 60, phase="Succeeded")
    job.wait_for_pods("evaluator", 1, 60, phase="Succeeded")


def test_model_lands_on_the_claim(start_job, shared_claim):
    claim = shared_claim("out")
    job = start_job(digits(output={"volume": claim.source()}, observability={"trace": {"maxBytes": 1 << 20}}))
    job.wait_for("Succeeded", TRAINING_SECONDS)
    numbers = numbers_of(claim.folder / "model.safetensors")
    assert len(numbers) == PARAMETERS and all(map(math.isfinite, numbers)) and any(numbers)
    # Its trace lies beside it, as it was asked for.
    trace = claim.folder / f"digits-trace-{job.get()['metadata']['uid']}"
    assert json.loads((trace / "job.json").read_text())["metadata"]["name"] == "digits"
    assert "each is decided alike again" in run(str(ROOT / "build/release/bin/paceline"), "replay", str(trace))


def test_cluster_sample_trains_with_checkpoints_and_output(namespace, shared_claim):
    claim = shared_claim("shared")
    namespace.apply((ROOT / "deploy/samples/digits-cluster.yaml").read_text())
    job = Job(namespace, "digits-cluster")
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert len(numbers_of(claim.folder / "model.safetensors")) == PARAMETERS
    assert job.status()["progress"]["metric"] >= 0.97
