"""What platform engineers do with any object by habit, done with a TrainingJob: docs/kubernetes.md, "kubectl habits"."""
import contextlib
import re
import subprocess

import pytest
import yaml

import install
from job import ENDLESS, Job, digits, paced
from kubectl import as_text, kubectl, wait_until

MANAGER = ["--server-side", "--field-manager=platform"]  # As a pipeline of theirs would apply it.
# What every run tells, once each. The first two have two witnesses, the kubelets and the coordinator: either is heard first.
BEGINNING = ["AllRunning", "Training"]
END = ["TrainingSucceeded", "ModelAvailable"]
COLUMNS = ["NAME", "STATE", "PROGRESS", "ETA", "ACCURACY", "WORKERS", "SCHEME", "SLOWEST", "AGE", "STANDSTILL"]


def apply_server_side(namespace, manifest, *flags):
    return namespace.attempt("apply", *MANAGER, *flags, "-f", "-", text=as_text(manifest))


def diff(namespace, manifest):
    return namespace.attempt("diff", *MANAGER, "-f", "-", text=as_text(manifest))


def edit(namespace, name, script, folder):
    """kubectl edit, with an editor that is a sed script; what it does not save stays in the folder."""
    return namespace.attempt("edit", "trainingjob", name, KUBE_EDITOR=f"sed -i -E '{script}'", TMPDIR=str(folder))


@contextlib.contextmanager
def watched(namespace, name, tmp_path):
    """The lines that `kubectl get -w` has printed so far."""
    path = tmp_path / "watch.txt"
    with open(path, "w") as file:
        watch = subprocess.Popen(["kubectl", "-n", namespace.name, "get", "trainingjobs", name, "--watch"], stdout=file)
    try:
        yield lambda: path.read_text().splitlines()
    finally:
        watch.terminate()
        watch.wait(timeout=30)


def event_reasons(description):
    """Of `kubectl describe`, in the order in which it prints them."""
    return re.findall(r"^  (?:Normal|Warning)\s+(\w+)", description.split("\nEvents:")[1], re.MULTILINE)


def in_order(wanted, seen):
    """Whether `seen` holds all that is wanted, in that order, with others between them."""
    rest = iter(seen)
    return all(one in rest for one in wanted)


def story(reasons):
    """The events that every run tells, those of its beginning sorted."""
    told = [reason for reason in reasons if reason in BEGINNING + END]
    return sorted(told[:2]) + told[2:]


def test_apply_diff_watch_wait_describe_delete(namespace, tmp_path):
    manifest = paced(6, workers={"replicas": 3})
    assert diff(namespace, manifest)[1] == 1, "what is not there yet is a difference"
    text, code = apply_server_side(namespace, manifest)
    assert code == 0, text
    job = Job(namespace, "digits")
    with watched(namespace, job.name, tmp_path) as lines:
        namespace.kubectl("wait", "--for=condition=Running", "tj/digits", "--timeout=120s")
        namespace.kubectl("wait", "--for=jsonpath={.status.state}=Running", "tj/digits", "--timeout=60s")
        # Defaults and a status that moves are no differences.
        text, code = diff(namespace, manifest)
        assert code == 0, text
        text, code = diff(namespace, paced(6, workers={"replicas": 5}))
        assert code == 1 and re.search(r"^\+ +replicas: 5$", text, re.MULTILINE), text
        namespace.kubectl("wait", "--for=condition=Succeeded", "tj/digits", "--timeout=300s", deadline_seconds=310)
        namespace.kubectl("wait", "--for=condition=Running=false", "tj/digits", "--timeout=30s")
        wait_until("the watch shows the end", lambda: lines()[-1].split()[1:3] == ["Succeeded", "100%,"], 60, job.describe)
        shown = lines()
    print("\n".join(shown))
    assert shown[0].split() == COLUMNS
    states = [line.split()[1] for line in shown[1:]]
    assert in_order(["Starting", "Running", "Succeeded"], states), states
    running = [line for line in shown if re.search(r"Running +\d+%, step \d+ .*3/3 +BSP k=3 +digits-worker-\d \d+\.\dx", line)]
    assert running, shown

    described = job.describe()
    assert story(event_reasons(described)) == BEGINNING + END, described

    namespace.kubectl("delete", "tj/digits", "--wait=false")
    namespace.kubectl("wait", "--for=delete", "tj/digits", "--timeout=60s")
    job.wait_for_nothing_left(120)


def test_a_running_job_is_applied_scaled_and_edited(namespace, tmp_path):
    manifest = paced(ENDLESS, workers={"replicas": 2, "maxReplicas": 4})
    assert apply_server_side(namespace, manifest)[1] == 0
    job = Job(namespace, "digits")
    job.wait_for_step(5)
    before = job.container_ids()

    # Who scales takes the field over; who applies the old number is told whose it is now.
    namespace.kubectl("scale", "tj/digits", "--replicas=3", "--current-replicas=2")
    job.wait_for_pods("worker", 3, 90)
    text, code = apply_server_side(namespace, manifest)
    assert code != 0 and 'conflict with "kubectl"' in text and ".spec.workers.replicas" in text, text
    # Three ways out: leave the field to others...
    without = paced(ENDLESS, workers={"replicas": None, "maxReplicas": 4})
    text, code = apply_server_side(namespace, without)
    assert code == 0, text
    assert job.get()["spec"]["workers"]["replicas"] == 3
    # ...say the same as they do...
    manifest["spec"]["workers"]["replicas"] = 3
    text, code = apply_server_side(namespace, manifest)
    assert code == 0, text
    # ...or take it back.
    manifest["spec"]["workers"]["replicas"] = 4
    assert apply_server_side(namespace, manifest)[1] != 0
    text, code = apply_server_side(namespace, manifest, "--force-conflicts")
    assert code == 0, text
    job.wait_for_pods("worker", 4, 90)

    text, code = edit(namespace, "digits", r"/^spec:/,/^status:/ s/(scheme: )BSP$/\1SSP/", tmp_path)
    assert code == 0, text
    job.wait_for_scheme("SSP", 60)
    text, code = edit(namespace, "digits", r"s/^( *globalBatchSize: ).*/\132/", tmp_path)
    assert code != 0 and "is invalid" in text, text
    # What the editor shows again: the reason, and below it what was written.
    kept = [path.read_text() for path in tmp_path.glob("kubectl-edit-*.yaml")]
    assert any("cannot change once the job exists" in shown for shown in kept), kept
    assert job.get()["spec"]["training"]["globalBatchSize"] == 64

    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 5)
    assert {name: ids for name, ids in job.container_ids().items() if name in before} == before
    reasons = event_reasons(job.describe())
    assert in_order(["Training", "ScaledUp", "SchemeChanged"], reasons), reasons


def test_delete_while_pending(start_job):
    template = {"spec": {"containers": [{"name": "worker", "resources": {"requests": {"cpu": "1000"}}}]}}
    job = start_job(digits(workers={"replicas": 2, "template": template}))
    job.wait_for_message("ResourcesReady", ["digits-worker-", "Insufficient cpu"], 60, "False")
    # The event is written after the condition.
    wait_until("an event Unschedulable", lambda: "Unschedulable" in event_reasons(job.describe()), 60, job.describe)
    job.namespace.kubectl("delete", "tj/digits", "--timeout=30s")
    job.wait_for_nothing_left(120)


def test_labels_and_owners_lead_from_a_job_to_all_that_is_its(namespace, start_job):
    """What `kubectl get all -l`, `kubectl tree` and garbage collection go by."""
    job = start_job(paced(ENDLESS, workers={"replicas": 3, "minReplicas": 2}))
    job.wait_for("Running", 120)
    shown = namespace.kubectl("get", "all", "-l", "app.kubernetes.io/instance=digits", "-o", "name").split()
    pods = {f"pod/digits-{name}" for name in ("ps-0", "ps-1", "worker-0", "worker-1", "worker-2", "evaluator")}
    assert set(shown) == pods | {"service/digits"}
    assert "trainingjob.paceline.dev/digits" in namespace.kubectl("get", "all", "-o", "name").split()
    assert list(job.pods("worker")) == ["digits-worker-0", "digits-worker-1", "digits-worker-2"]

    uid = job.get()["metadata"]["uid"]
    kinds = "pods,services,configmaps,secrets,networkpolicies,poddisruptionbudgets"
    tree = {f"{child['kind']}/{child['metadata']['name']}" for child in namespace.list(kinds)
            if [owner["uid"] for owner in child["metadata"].get("ownerReferences", []) if owner.get("controller")] == [uid]}
    secrets = {"Secret/digits-ps-tls-0", "Secret/digits-worker-tls-0", "Secret/digits-evaluator-tls-0", "Secret/digits-token"}
    assert tree - secrets == {name.replace("pod/", "Pod/") for name in pods} | {
        "Service/digits", "ConfigMap/digits-job", "NetworkPolicy/digits", "PodDisruptionBudget/digits-workers",
        "PodDisruptionBudget/digits-ps"}
    assert secrets <= tree
    labelled = {f"{child['kind']}/{child['metadata']['name']}" for child in namespace.list(kinds, "app.kubernetes.io/instance=digits")}
    assert labelled == tree


def test_explain_tells_what_fields_are_for():
    """That no field is without a description, a test of the schema asks; here, that kubectl gets at it."""
    # An API server tells of a definition's short names a moment after it has accepted it.
    replicas = wait_until("the short name", lambda: kubectl("explain", "tj.spec.workers.replicas"), 60)
    assert "how many workers are wanted" in replicas
    assert "every restart is Paceline's" in kubectl("explain", "tj.spec.workers.template.spec.restartPolicy")
    scheme = kubectl("explain", "tj.spec.sync.scheme")
    assert "whose gradients count, and who may go on" in scheme and "BackupWorkers" in scheme
    tree = kubectl("explain", "tj", "--recursive")
    assert all(name in tree for name in ("slowdownPercent", "givesWayUntil", "volumeClaimTemplate"))


@pytest.mark.alone
def test_rollout_restart_of_the_operator_touches_no_job(start_job):
    epochs = 12
    job = start_job(paced(epochs))
    job.wait_for_step(20)
    before = job.uids()
    pods = ["-n", install.NAMESPACE, "get", "pods", "-l", "app.kubernetes.io/component=operator", "-o", "jsonpath={.items[*].metadata.name}"]
    old = set(kubectl(*pods).split())
    kubectl("-n", install.NAMESPACE, "rollout", "restart", "deployment/paceline-operator")
    kubectl("-n", install.NAMESPACE, "rollout", "status", "deployment/paceline-operator", "--timeout=120s", deadline_seconds=130)
    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 20)
    assert not old & {lease_holder()}
    assert job.uids() == before
    job.wait_for("Succeeded", 300)
    job.assert_every_sample_counted_once(epochs)
    assert job.status()["restarts"] == 0
    reasons = [reason for reason, _ in job.namespace.events("digits")]
    assert story(reasons) == BEGINNING + END, reasons


def lease_holder():
    """The pod of the operator that leads."""
    lease = yaml.safe_load(kubectl("-n", install.NAMESPACE, "get", "lease", "paceline-operator-leader", "-o", "yaml"))
    return lease["spec"].get("holderIdentity", "").split("_")[0]
