"""Several kinds of workers in one job, each with its template, scaled one by one."""
import yaml

from job import ENDLESS, PACE, ROOT, digits

SAMPLE = yaml.safe_load((ROOT / "deploy/samples/digits-groups.yaml").read_text())


def template(machine, **container):
    return {"metadata": {"labels": {"machine": machine}}, "spec": {"containers": [{"name": "worker", **container}]}}


def grouped(**changes):
    """A job of one big and two small workers that goes on for ever."""
    groups = [{"name": "big", "replicas": 1, "threads": 2, "template": template("big")},
              {"name": "small", "replicas": 2, "minReplicas": 0, "maxReplicas": 4,
               "template": template("small", env=[{"name": "OMP_NUM_THREADS", "value": "1"}])}]
    return digits(training={"stop": {"maxEpochs": ENDLESS}}, chaos=PACE,
                  workers={"replicas": None, "groups": groups, **changes})


def patch_groups(job, change):
    groups = job.get()["spec"]["workers"]["groups"]
    job.patch(workers={"groups": change(groups)})


def resized(name, replicas):
    return lambda groups: [{**group, "replicas": replicas} if group["name"] == name else group for group in groups]


def test_the_sample_trains_with_both_kinds(start_job):
    job = start_job(SAMPLE)
    job.wait_for("Succeeded", 300)
    pods = job.pods("worker")
    assert {name: pod["metadata"]["labels"]["machine"] for name, pod in pods.items()} == {
        "digits-groups-big-0": "big", "digits-groups-small-0": "small", "digits-groups-small-1": "small"}
    assert {(worker["group"], worker["index"]) for worker in job.status()["workers"]} == {("big", 0), ("small", 0), ("small", 1)}


def test_each_group_is_scaled_by_itself(start_job):
    job = start_job(grouped())
    job.wait_for_step(20, 180)
    before = job.container_ids()
    assert set(job.pods("worker")) == {"digits-big-0", "digits-small-0", "digits-small-1"}
    assert {group["name"]: group["ready"] for group in job.status()["workerGroups"]} == {"big": 1, "small": 2}

    patch_groups(job, resized("small", 4))
    job.wait_for_pods("worker", 5, 90)
    assert {name: ids for name, ids in job.container_ids().items() if name in before} == before

    patch_groups(job, resized("small", 0))
    assert set(job.wait_for_pods("worker", 1, 90)) == {"digits-big-0"}
    assert job.container_ids()["digits-big-0"] == before["digits-big-0"]
    job.wait_for_step(job.status()["progress"]["step"] + 20)

    patch_groups(job, lambda groups: groups + [{"name": "late", "replicas": 1, "template": template("late")}])
    assert "digits-late-0" in job.wait_for_pods("worker", 2, 90)
    job.wait_for_step(job.status()["progress"]["step"] + 20)
    assert job.status()["failures"] == 0


def test_scaling_all_at_once_is_refused_with_a_way_out(start_job):
    job = start_job(grouped())
    job.wait_for_step(5, 180)
    said, code = job.namespace.attempt("scale", "tj/digits", "--replicas=6")
    assert code != 0 and "set groups[].replicas of each" in said
    assert set(job.pods("worker")) == {"digits-big-0", "digits-small-0", "digits-small-1"}


def test_a_killed_worker_comes_back_to_its_seat(start_job):
    job = start_job(grouped())
    job.wait_for_step(20, 180)
    uids = job.uids("worker")
    job.namespace.kubectl("delete", "pod", "digits-small-1", "--wait=false")
    job.wait_for_another("digits-small-1", uids["digits-small-1"])
    job.wait_for_step(job.status()["progress"]["step"] + 20)
    after = job.uids("worker")
    assert {name for name in uids if after.get(name) != uids[name]} == {"digits-small-1"}
