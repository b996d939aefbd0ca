"""A worker that is slower than the others, for good: named, and moved where that is asked for."""
from job import digits

SLOW = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.2, "workers": [1]}]}


def slow_worker(action):
    return digits(training={"stop": {"maxEpochs": 2000}}, chaos=SLOW,
                  workers={"replicas": 3, "minReplicas": 2, "stragglerPolicy": {"slowdownPercent": 200, "forSeconds": 10, "action": action}})


def test_a_straggler_is_named_with_pod_and_node(start_job):
    job = start_job(slow_worker("Report"))
    job.wait_for_step(5, 120)
    node = job.pods("worker")["digits-worker-1"]["spec"]["nodeName"]
    job.wait_for_message("Straggling", ["digits-worker-1", node], 120, "True")
    before = job.uids("worker")
    assert job.status()["workers"][0]["name"] == "digits-worker-1"  # The slowest comes first.
    assert job.uids("worker") == before


def test_a_straggler_is_replaced_on_another_node(start_job):
    job = start_job(slow_worker("Replace"))
    job.wait_for_step(5, 120)
    before = job.pods("worker")["digits-worker-1"]
    after = job.wait_for_another("digits-worker-1", before["metadata"]["uid"], 180)
    assert after["spec"]["nodeName"] != before["spec"]["nodeName"]
