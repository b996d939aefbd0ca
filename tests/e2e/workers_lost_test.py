"""Workers that go away in the middle of a run: the job goes on, and every sample counts once."""
import json

import nodes
import pytest

from job import paced
from kubectl import kubectl

EPOCHS = 15
TRAINING_SECONDS = 300


@pytest.fixture
def running(start_job):
    """A job in the middle of its training."""
    job = start_job(paced(EPOCHS))
    job.wait_for_step(20)
    return job


def finish(job, failures=0):
    job.wait_for("Succeeded", TRAINING_SECONDS)
    job.assert_every_sample_counted_once(EPOCHS)
    assert job.status()["progress"]["metric"] >= 0.97
    assert job.status()["failures"] == failures


def test_container_killed(running):
    nodes.need_kind()
    pod = running.pods()["digits-worker-2"]
    nodes.kill_process(pod, f"paceline-worker .*--index 2 .*{running.namespace.name}")
    running.wait_for_another("digits-worker-2", pod["metadata"]["uid"])
    finish(running, failures=1)  # Nobody announced it: docs/conditions.md, "Failure or disruption".
    assert running.status()["restarts"] >= 1


def test_pod_deleted(running):
    before = running.uids("worker")
    running.namespace.kubectl("delete", "pod", "digits-worker-1", "--wait=false")
    running.wait_for_another("digits-worker-1", before["digits-worker-1"])
    after = running.uids("worker")
    assert all(after[name] == uid for name, uid in before.items() if name != "digits-worker-1" and name in after)
    finish(running)


def test_pod_force_deleted(running):
    uid = running.uids()["digits-worker-0"]
    running.namespace.kubectl("delete", "pod", "digits-worker-0", "--force", "--grace-period=0")
    running.wait_for_another("digits-worker-0", uid)
    finish(running)


def test_pod_evicted(running):
    space = running.namespace.name
    uid = running.uids()["digits-worker-3"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "digits-worker-3", "namespace": space}}
    kubectl("create", "--raw", f"/api/v1/namespaces/{space}/pods/digits-worker-3/eviction", "-f", "-", text=json.dumps(eviction))
    running.wait_for_another("digits-worker-3", uid)
    finish(running)
