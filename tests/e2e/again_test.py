"""A job of a name that another one had, and a job whose children somebody deletes, edits or leaves behind."""
import json

from job import ENDLESS, digits, paced
from kubectl import wait_until

CHILDREN = [("service", "digits"), ("configmap", "digits-job"), ("networkpolicy", "digits"), ("poddisruptionbudget", "digits-workers"),
            ("secret", "digits-ps-tls-0"), ("secret", "digits-worker-tls-0")]


def test_deleted_and_applied_again_inherits_nothing(start_job, namespace):
    job = start_job(paced(ENDLESS))
    for _ in range(3):
        job.wait_for_step(5)
        former = job.get()["metadata"]["uid"]
        namespace.kubectl("delete", "tj/digits", "--wait=false")
        wait_until("the former job is gone", lambda: (job.get() or {}).get("metadata", {}).get("uid") != former, 60)
        namespace.apply(paced(ENDLESS))
        job.wait_for_message("ResourcesReady", ["former"], 60, "False")
    job.wait_for_step(20)
    status = job.status()
    assert (status.get("restarts", 0), status["coordinatorStarts"], status.get("failures", 0)) == (0, 1, 0), status
    assert "rollBacks" not in status.get("recovery", {}) or status["recovery"]["rollBacks"] == 0, status
    uid = job.get()["metadata"]["uid"]
    assert all(pod["metadata"]["ownerReferences"][0]["uid"] == uid for pod in job.pods().values())


def test_what_was_orphaned_is_adopted_but_for_its_pods(start_job, namespace):
    job = start_job(paced(ENDLESS))
    job.wait_for_step(5)
    service = namespace.get("service", "digits")["metadata"]["uid"]
    namespace.kubectl("delete", "tj/digits", "--cascade=orphan", "--wait=true", "--timeout=60s")
    namespace.apply(paced(ENDLESS))
    job.wait_for_message("ResourcesReady", ["digits-ps-0"], 60, "False")
    namespace.kubectl("delete", "pods", "-l", "paceline.dev/job=digits", "--wait=false")
    job.wait_for_step(5)
    adopted = namespace.get("service", "digits")["metadata"]
    assert adopted["uid"] == service
    assert adopted["ownerReferences"][0]["uid"] == job.get()["metadata"]["uid"]
    assert job.status()["coordinatorStarts"] == 1


def test_children_come_back_and_training_goes_on(start_job, namespace):
    job = start_job(paced(ENDLESS, workers={"replicas": 4, "minReplicas": 2}))
    job.wait_for_step(10)
    pods = job.container_ids()
    before = {child: namespace.get(*child) for child in CHILDREN}
    for child in CHILDREN:
        namespace.delete(*child, "--wait=false")
    for kind, name in CHILDREN:
        former = before[kind, name]["metadata"]["uid"]

        def is_back(kind=kind, name=name, former=former):
            found = namespace.get(kind, name)
            return found is not None and found["metadata"]["uid"] != former
        wait_until(f"another {kind} {name}", is_back, 60, job.describe)
    assert namespace.get("configmap", "digits-job")["data"] == before["configmap", "digits-job"]["data"]
    assert namespace.get("service", "digits")["spec"]["ports"] == before["service", "digits"]["spec"]["ports"]

    namespace.patch("networkpolicy", "digits", {"spec": {"ingress": []}})
    namespace.patch("configmap", "digits-job", {"data": {"job.json": "{}"}})
    for kind, name, part in (("networkpolicy", "digits", "spec"), ("configmap", "digits-job", "data")):
        wait_until(f"{kind} {name} is as it was", lambda kind=kind, name=name, part=part: json.dumps(
            namespace.get(kind, name)[part], sort_keys=True) == json.dumps(before[kind, name][part], sort_keys=True), 60, job.describe)
    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 20)
    assert job.container_ids() == pods
    assert job.status().get("restarts", 0) == 0


def test_a_rule_ends_the_job_at_once(start_job):
    job = start_job(digits(
        workers={"template": {"spec": {"containers": [{"name": "worker", "command": ["/bin/sh", "-c", "exit 42"]}]}}},
        runPolicy={"backoffLimit": 100,
                   "failurePolicy": {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}}))
    failed = job.wait_for("Failed", 120)
    assert failed["reason"] == "PodFailurePolicy"
    assert "exited with code 42, by failurePolicy.rules[0]" in failed["message"]


def test_a_name_that_no_service_can_have_is_refused(namespace):
    for name in ("2digits", "digits.v2"):
        assert "a Service gets that name" in namespace.refuses(digits(name))
