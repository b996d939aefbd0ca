"""What users change while a job runs: its size, its scheme, whether it runs at all."""
import time

import pytest

from job import ENDLESS, paced


def test_scales_without_touching_the_others(start_job):
    job = start_job(paced(ENDLESS, workers={"replicas": 4, "maxReplicas": 6}))
    job.wait_for_step(20)
    before = job.container_ids()

    began = time.monotonic()
    job.namespace.kubectl("scale", "tj/digits", "--replicas=6")
    job.wait_for_pods("worker", 6, 90)
    print(f"4 to 6: two more workers run after {time.monotonic() - began:.1f} s")
    assert {name: ids for name, ids in job.container_ids().items() if name in before} == before

    began = time.monotonic()
    job.namespace.kubectl("scale", "tj/digits", "--replicas=2")
    job.wait_for_pods("worker", 2, 90)
    print(f"6 to 2: four workers have left after {time.monotonic() - began:.1f} s")
    stay = {name: ids for name, ids in before.items() if name not in ("digits-worker-2", "digits-worker-3")}
    assert job.container_ids() == stay

    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 20)
    assert job.status()["failures"] == 0


def test_scheme_is_patched_on_the_run(start_job):
    job = start_job(paced(ENDLESS))
    job.wait_for_step(20)
    before = job.container_ids()
    for scheme in ("SSP", "BackupWorkers", "BSP"):
        job.patch(sync={"scheme": scheme})
        job.wait_for_scheme(scheme, 60)
        job.wait_for_step(job.status()["progress"]["step"] + 10)
    assert job.container_ids() == before


@pytest.mark.long
def test_suspends_and_resumes_from_the_checkpoint(start_job, shared_claim):
    claim = shared_claim("checkpoint")
    job = start_job(paced(15, checkpoint={"volume": claim.source(), "periodSeconds": 5}))
    job.wait_for_step(30)
    job.patch(runPolicy={"suspend": True})
    job.wait_for("Suspended", 90)
    job.wait_for_no_pods(90)
    step = job.status()["progress"]["step"]
    job.patch(runPolicy={"suspend": False})
    job.wait_for("Suspended", 60, status="False")
    job.wait_for("Running", 90)
    assert job.wait_for_step(step)["step"] >= step
    job.wait_for("Succeeded", 300)
    assert job.status()["progress"]["metric"] >= 0.97


def test_deleting_leaves_nothing(start_job):
    job = start_job(paced(ENDLESS))
    job.wait_for("Running", 120)
    job.namespace.kubectl("delete", "tj/digits", "--wait=true", "--timeout=60s")
    job.wait_for_nothing_left(120)


def test_an_autoscaler_scales_it(start_job):
    """Without a metrics server all that an autoscaler can judge is its own minimum; it reads and writes the scale subresource."""
    job = start_job(paced(ENDLESS, workers={"replicas": 2, "maxReplicas": 6}))
    job.wait_for_step(5)
    before = job.container_ids()
    job.namespace.apply({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "digits"},
        "spec": {"scaleTargetRef": {"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "name": "digits"},
                 "minReplicas": 3, "maxReplicas": 4,
                 "metrics": [{"type": "Resource",
                              "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
    job.wait_for_pods("worker", 3, 120)
    assert {name: ids for name, ids in job.container_ids().items() if name in before} == before
