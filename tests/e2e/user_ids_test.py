"""Jobs whose pods run as whom the cluster says: as an image's own user, and as a number that no image knows."""
import pytest

from job import Job, digits
from kubectl import as_text, wait_until

IDS = ("runAsUser", "runAsGroup", "fsGroup")
NONE = dict.fromkeys(IDS)  # Left out of the pods, as where OpenShift fills them in.
ARBITRARY = {"runAsUser": 1000680000, "runAsGroup": 0, "fsGroup": 1000680000}  # As OpenShift does.


@pytest.mark.parametrize("ids", [NONE, ARBITRARY], ids=["none", "arbitrary"])
def test_a_job_trains_whoever_its_pods_run_as(namespace, ids):
    template = {"template": {"spec": {"securityContext": ids}}}
    manifest = digits(parameterServer=template, workers={"replicas": 2, **template}, evaluator=template)
    namespace.kubectl("create", "-f", "-", text=as_text(manifest))  # Which keeps nulls; apply does not.
    job = Job(namespace, "digits")
    # The coordinator stays to serve the model, whose token it reads.
    wait_until("pods of all roles", lambda: {"ps", "worker", "evaluator"} <= {
        pod["metadata"]["labels"]["paceline.dev/role"] for pod in job.pods().values()}, 120, job.describe)
    for name, pod in job.pods().items():
        assert {i: pod["spec"]["securityContext"].get(i) for i in IDS} == ids, name
    job.wait_for("Succeeded", 300)
    assert job.status()["model"]["state"] == "Available"
