"""A worker that is slower than the others, for good: named, and moved where that is asked for."""
from job import digits

SLOW = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.2, "workers": [1]}]}


def slow_worker(action):
    return digits(training={"stop": {"maxEpochs": 2000}}, chaos=SLOW,
                  workers={"replicas": 3, "minReplicas": 2, "stragglerPolicy": {"slowdownPercent": 200, "forSeconds": 10, "action": action}})


def test_a_straggler_is_named_with_pod_and_node(start_job):
    job = start_job(slow_worker("Report"))
    node = job.wait_for_pods("worker", 3, 120)["digits-worker-1"]["spec"]["nodeName"]
    before = job.uids("worker")
    job.wait_for_message("Straggling", ["digits-worker-1", node], 120, "True")
    assert job.status()["workers"][0]["name"] == "digits-worker-1"  # The slowest comes first.
    assert job.uids("worker") == before


def test_a_straggler_is_replaced_on_another_node(start_job):
    job = start_job(slow_worker("Replace"))
    before = job.wait_for_pods("worker", 3, 120)["digits-worker-1"]  # Before it is slow for long enough.
    after = job.wait_for_another("digits-worker-1", before["metadata"]["uid"])
    assert after["spec"]["nodeName"] != before["spec"]["nodeName"]
