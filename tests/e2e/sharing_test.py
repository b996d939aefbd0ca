"""Several jobs and others on one cluster."""
import pytest

import install
from job import digits, paced
from kubectl import kubectl, wait_until
from nodes import workers


def requests(cpu):
    return {"template": {"spec": {"containers": [{"name": "worker", "resources": {"requests": {"cpu": cpu}}}]}}}


def test_two_jobs_for_a_cluster_that_holds_one(start_job):
    """Neither waits for ever: what does not fit is told, the first one ends, then the second one goes on. The jobs of other tests
    ask for no CPU, and so take no room."""
    free = min(float(cpu) for cpu in kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.cpu}").split())
    each = f"{int(free * 1000 * 0.55)}m"  # One worker a node.
    nodes = len(kubectl("get", "nodes", "-o", "name").split())
    first = start_job(paced(12, "first", workers={"replicas": nodes, "minReplicas": nodes, **requests(each)}))
    first.wait_for("Running", 120)
    second = start_job(digits("second", workers={"replicas": nodes, "minReplicas": nodes, **requests(each)}))
    second.wait_for_message("ResourcesReady", ["second-worker-"], 60, "False")
    first.wait_for("Succeeded", 300)
    second.wait_for("Succeeded", 300)


@pytest.mark.alone
def test_operator_killed_in_the_middle(start_job):
    """A second replica takes over; no pod is made twice and none is touched."""
    kubectl("-n", install.NAMESPACE, "scale", "deployment/paceline-operator", "--replicas=2")
    kubectl("-n", install.NAMESPACE, "rollout", "status", "deployment/paceline-operator", "--timeout=60s")
    job = start_job(paced(15))
    job.wait_for_step(20)
    before = job.uids()
    lease = ["-n", install.NAMESPACE, "get", "lease", "paceline-operator-leader", "-o", "jsonpath={.spec.holderIdentity}"]
    leader = kubectl(*lease).split("_")[0]
    kubectl("-n", install.NAMESPACE, "delete", "pod", leader, "--force", "--grace-period=0")
    wait_until("another leader", lambda: kubectl(*lease).split("_")[0] not in ("", leader), 60)
    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 10)
    assert job.uids() == before
    job.wait_for("Succeeded", 300)
    job.assert_every_sample_counted_once(15)
    kubectl("-n", install.NAMESPACE, "scale", "deployment/paceline-operator", "--replicas=1")


@pytest.mark.alone  # It closes a node.
def test_a_job_that_cannot_start_makes_room_and_comes_back(start_job):
    """Half of what it needs is held by nobody for ever: it gives its machine to a job that can use it, and returns."""
    nodes = workers()
    if len(nodes) < 2:
        pytest.skip("the cluster has fewer than two nodes for work")
    free = min(float(cpu) for cpu in kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.cpu}").split())
    template = requests(f"{int(free * 1000 * 0.55)}m")["template"]  # One worker a node...
    template["spec"]["nodeSelector"] = {"paceline-test": "sharing"}  # ...and of two nodes, one is closed.
    for node in nodes[:2]:
        kubectl("label", "node", node, "paceline-test=sharing", "--overwrite")
    kubectl("cordon", nodes[0])
    try:
        stuck = start_job(digits("stuck", workers={"replicas": 2, "minReplicas": 2, "template": template},
                                 runPolicy={"schedulingPolicy": {"scheduleTimeoutSeconds": 4}}))
        stuck.wait_for_message("ResourcesReady", ["stuck-worker-"], 60, "False")
        fits = start_job(digits("fits", workers={"replicas": 1, "minReplicas": 1, "template": template}))
        wait_until("stuck gives way", lambda: stuck.status().get("gaveWay", 0) >= 1, 120, stuck.describe)
        fits.wait_for("Succeeded", 300)
    finally:
        kubectl("uncordon", nodes[0])
    stuck.wait_for("Succeeded", 300)
    for node in nodes[:2]:
        kubectl("label", "node", node, "paceline-test-")
