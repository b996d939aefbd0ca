"""Several jobs and others on one cluster."""
import install
from job import digits
from kubectl import kubectl, wait_until


def requests(cpu):
    return {"template": {"spec": {"containers": [{"name": "worker", "resources": {"requests": {"cpu": cpu}}}]}}}


def test_two_jobs_for_a_cluster_that_holds_one(start_job):
    """Neither waits for ever: what does not fit is told, the first one ends, then the second one goes on."""
    free = min(float(cpu) for cpu in kubectl("get", "nodes", "-o", "jsonpath={.items[*].status.allocatable.cpu}").split())
    each = f"{int(free * 1000 * 0.55)}m"  # One worker a node.
    nodes = len(kubectl("get", "nodes", "-o", "name").split())
    first = start_job(digits("first", workers={"replicas": nodes, "minReplicas": nodes, **requests(each)}))
    first.wait_for("Running", 120)
    second = start_job(digits("second", workers={"replicas": nodes, "minReplicas": nodes, **requests(each)}))
    second.wait_for_message("ResourcesReady", ["second-worker-"], 60, "False")
    first.wait_for("Succeeded", 300)
    second.wait_for("Succeeded", 300)


def test_operator_killed_in_the_middle(start_job):
    """A second replica takes over; no pod is made twice and none is touched."""
    kubectl("-n", install.NAMESPACE, "scale", "deployment/paceline-operator", "--replicas=2")
    kubectl("-n", install.NAMESPACE, "rollout", "status", "deployment/paceline-operator", "--timeout=60s")
    job = start_job(digits(training={"stop": {"maxEpochs": 150}}))
    job.wait_for_step(20, 120)
    before = job.uids()
    lease = ["-n", install.NAMESPACE, "get", "lease", "paceline-operator", "-o", "jsonpath={.spec.holderIdentity}"]
    leader = kubectl(*lease).split("_")[0]
    kubectl("-n", install.NAMESPACE, "delete", "pod", leader, "--force", "--grace-period=0")
    wait_until("another leader", lambda: kubectl(*lease).split("_")[0] not in ("", leader), 60)
    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 50, 120)
    assert job.uids() == before
    job.wait_for("Succeeded", 300)
    job.assert_every_sample_counted_once(150)
    kubectl("-n", install.NAMESPACE, "scale", "deployment/paceline-operator", "--replicas=1")
