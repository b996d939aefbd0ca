"""The sample job: from kubectl apply to a trained model."""
from job import ROOT, SAMPLE, Job, digits

TRAINING_SECONDS = 300


def test_sample_trains_unchanged(start_job):
    job = start_job(SAMPLE)
    job.wait_for("Created", 30)
    job.wait_for("Running", 120)
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert job.status()["progress"]["metric"] >= 0.97
    # All end by themselves, and cleanPodPolicy Running keeps them and their logs.
    job.wait_for_pods("ps", 2, 30, phase="Succeeded")
    job.wait_for_pods("worker", 4, 30, phase="Succeeded")
    job.wait_for_pods("evaluator", 1, 30, phase="Succeeded")


def test_model_lands_on_the_claim(start_job, shared_claim):
    claim = shared_claim("out")
    job = start_job(digits(output={"volume": claim.source()}))
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert (claim.folder / "model.safetensors").stat().st_size > 21_610 * 4


def test_cluster_sample_trains_with_checkpoints_and_output(namespace, operator, shared_claim):
    claim = shared_claim("shared")
    namespace.apply((ROOT / "deploy/samples/digits-cluster.yaml").read_text())
    job = Job(namespace, "digits-cluster")
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert (claim.folder / "model.safetensors").stat().st_size > 21_610 * 4
    assert job.status()["progress"]["metric"] >= 0.97
