"""Who reaches a job's pods from outside of it: nobody but scrapers, where the cluster enforces NetworkPolicy at all."""
import os

import pytest
from job import ENDLESS, ROOT, digits, paced
from kubectl import CommandFailed, wait_until

BULK_PORT, API_PORT, METRICS_PORT = 7600, 7601, 7602
BLOCKED_SECONDS = 30

DENY_ALL = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny-all"},
            "spec": {"podSelector": {"matchLabels": {"probe": "target"}}, "policyTypes": ["Ingress"]}}


DENY_EVERYTHING = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "deny-everything"},
                   "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}}


def probe(name, image):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"probe": name}},
            "spec": {"containers": [{"name": "probe", "image": image, "imagePullPolicy": "IfNotPresent", "args": ["serve", "/dev/null"]}]}}


def address(namespace, pod):
    return namespace.get("pod", pod)["status"]["podIP"]


def reaches(namespace, host, port):
    try:
        namespace.kubectl("exec", "asker", "--", "/probe", "dial", f"{host}:{port}")
        return True
    except CommandFailed:
        return False


@pytest.fixture
def asker(namespace, probe_image):
    """A pod that belongs to no job, in a cluster that was seen to enforce policies."""
    namespace.apply([probe("asker", probe_image), probe("target", probe_image)])
    namespace.kubectl("wait", "--for=condition=Ready", "pod/asker", "pod/target", "--timeout=60s")
    target = address(namespace, "target")
    wait_until("a probe that answers", lambda: reaches(namespace, target, 8080), 60)
    namespace.apply(DENY_ALL)
    try:
        wait_until("a probe that is cut off", lambda: not reaches(namespace, target, 8080), BLOCKED_SECONDS)
    except AssertionError:
        if "PACELINE_CLUSTER" in os.environ:  # One of our own, which does.
            raise
        pytest.skip("this cluster accepts NetworkPolicy and does not enforce it: a pod that nobody may reach was reached")


def test_outsiders_reach_the_metrics_and_nothing_else(namespace, asker, start_job):
    job = start_job(paced(ENDLESS))
    job.wait_for("Running", 120)
    server = address(namespace, "digits-ps-0")
    wait_until("the metrics", lambda: reaches(namespace, server, METRICS_PORT), 60)
    assert not reaches(namespace, server, BULK_PORT)
    assert not reaches(namespace, server, API_PORT)
    # Whom it concerns reaches both: workers push, and the operator hears of it.
    job.wait_for_step(1)


def test_a_job_needs_no_other_connection_than_those_of_the_policies(namespace, asker, start_job):
    namespace.apply(DENY_EVERYTHING)
    namespace.kubectl("apply", "-f", str(ROOT / "deploy/policies/network-jobs.yaml"))
    job = start_job(digits())
    job.wait_for("Running", 120)
    server = address(namespace, "digits-ps-0")
    wait_until("an asker that gets nowhere", lambda: not reaches(namespace, server, METRICS_PORT), BLOCKED_SECONDS)
    job.wait_for("Succeeded", 300)
