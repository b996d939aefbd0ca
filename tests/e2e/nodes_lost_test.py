"""A whole node goes away: what ran there is given up after nodeLostSeconds and made anew elsewhere.

These tests take minutes: Kubernetes itself needs 40 to 50 seconds to notice that a node does not answer."""
import nodes
import pytest

from job import ENDLESS, paced
from kubectl import wait_until

pytestmark = pytest.mark.alone


@pytest.fixture
def running(start_job, shared_claim):
    nodes.need_kind()
    claim = shared_claim("checkpoint")
    job = start_job(paced(ENDLESS, runPolicy={"nodeLostSeconds": 10},
                          checkpoint={"volume": claim.source(), "periodSeconds": 5}))
    job.wait_for_step(50)
    return job


def busiest(job):
    """The node without the control plane that most of the job's pods are on, and their names."""
    by_node = {node: [] for node in nodes.workers()}
    for name, pod in job.pods().items():
        by_node.get(pod["spec"]["nodeName"], []).append(name)
    return max(by_node.items(), key=lambda item: len(item[1]))


def lose_and_bring_back(running, lose, bring_back):
    node, pods = busiest(running)
    print(f"{node} runs {', '.join(sorted(pods))}")
    before = running.uids()
    lose(node)
    try:
        for pod in pods:
            found = running.wait_for_another(pod, before[pod], 240)
            assert found["spec"]["nodeName"] != node
        step = running.status()["progress"]["step"]
        running.wait_for_step(step + 10)
    finally:
        bring_back(node)
    # What was paused and lives again is fenced: the job does not mind.
    step = running.status()["progress"]["step"]
    running.wait_for_step(step + 10)


@pytest.mark.timeout(900)
def test_a_stopped_node_and_then_a_paused_one(running):
    """One job loses both, one after the other: it starts once."""
    lose_and_bring_back(running, nodes.stop, nodes.start)
    lose_and_bring_back(running, nodes.pause, nodes.unpause)
    running.namespace.delete("trainingjob", "digits", "--wait=false")
