"""Parameter servers that go away in the middle of a run: all return to the newest checkpoint, and training goes on."""
import nodes
import pytest

from job import paced
from kubectl import wait_until

pytestmark = pytest.mark.long

EPOCHS = 15
TRAINING_SECONDS = 300


@pytest.fixture
def running(start_job, shared_claim):
    """A job in the middle of its training, with a checkpoint every two seconds."""
    claim = shared_claim("checkpoint")
    job = start_job(paced(EPOCHS, checkpoint={"volume": claim.source(), "periodSeconds": 2}))
    wait_until("a checkpoint", lambda: job.status().get("checkpoint", {}).get("version", 0) > 0, 180, job.describe)
    return job


def lose(job, server):
    """Kills that parameter server and waits until another one runs and steps are made again."""
    nodes.need_kind()
    pod = job.pods()[server]
    step = job.status()["progress"]["step"]
    nodes.kill_process(pod, f"paceline-ps .*--rank {server[-1]} .*{job.namespace.name}")
    job.wait_for_another(server, pod["metadata"]["uid"])
    job.wait_for_step(step + 10)


def finish(job):
    job.wait_for("Succeeded", TRAINING_SECONDS)
    assert job.status()["progress"]["metric"] >= 0.97
    assert job.status()["restarts"] >= 1
    events = job.namespace.events("digits")
    for wanted in ("Recovering", "RolledBack", "Recovered"):
        assert [note for reason, note in events if reason == wanted], events
    recovery = job.status()["recovery"]
    assert recovery["rollBacks"] >= 1
    assert recovery["fromVersion"] >= recovery["toVersion"] > 0


def test_shard_killed(running):
    lose(running, "digits-ps-1")
    finish(running)


def test_coordinator_killed(running):
    lose(running, "digits-ps-0")
    finish(running)


def test_both_pods_deleted(running):
    uids = running.uids("ps")
    running.namespace.kubectl("delete", "pod", *uids, "--force", "--grace-period=0")
    for name, uid in uids.items():
        running.wait_for_another(name, uid)
    finish(running)
