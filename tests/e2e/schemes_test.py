"""The adaptive schemes train the sample on a cluster, and a running job takes one after the other. The others: digits_test.py and
live_changes_test.py."""
import pytest

from job import digits, paced
from kubectl import wait_until

ACCURACY = 0.97
SCHEMES = {
    "DBW": {"scheme": "DBW"},
    "LB-BSP": {"scheme": "BSP", "batchSizing": {"strategy": "NARX"}},
    "WBSP": {"scheme": "WBSP"},
    "PSPlus": {"scheme": "PSPlus"},
    "Auto": {"scheme": "Auto"},
}


@pytest.mark.parametrize("sync", SCHEMES.values(), ids=SCHEMES)
def test_scheme_trains_the_sample(start_job, sync):
    job = start_job(digits(sync=sync))
    job.wait_for("Succeeded", 300)
    status = job.status()
    assert status["sync"]["scheme"] == sync["scheme"]
    assert status["progress"]["metric"] >= ACCURACY
    job.assert_every_sample_counted_once(15)


@pytest.mark.long
def test_scheme_changes_three_times_in_a_run(start_job):
    """What is changed is in the status ten seconds later, and so are the steps made since."""
    job = start_job(paced(30))
    job.wait_for_step(20)
    before = job.container_ids()
    for scheme in ("DBW", "WBSP", "PSPlus"):
        job.patch(sync={"scheme": scheme})
        job.wait_for_scheme(scheme, 60)
        job.wait_for_step(job.status()["progress"]["step"] + 20)
    assert job.container_ids() == before
    job.wait_for("Succeeded", 300)
    job.assert_every_sample_counted_once(30)
    assert job.status()["progress"]["metric"] >= ACCURACY


def test_the_scheme_column_follows_the_controller(start_job):
    """Two of four workers are five times slower: DBW learns not to wait for all. By durations alone: the sample is learnt
    within seconds, and where no k promises a gain any more, the rule is to wait for all."""
    slow = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.05},
                                                   {"kind": "Ratio", "ratio": 0.2, "workers": [2, 3]}]}
    job = start_job(digits(training={"stop": {"maxEpochs": 2000}}, sync={"scheme": "DBW", "dbw": {"method": "Blind"}}, chaos=slow))
    job.wait_for_step(20)
    wait_until(f"{job.name}: k of 1, 2 or 3", lambda: scheme_column(job) in (["DBW", "k=1"], ["DBW", "k=2"], ["DBW", "k=3"]), 120, job.describe)


def test_auto_leaves_out_who_is_always_slow_and_says_so(start_job):
    """One of four takes ten times as long as the others, whose length is injected as well: other pods on the machine change little."""
    slow = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.1}, {"kind": "Ratio", "ratio": 0.1, "workers": [3]}]}
    job = start_job(digits(training={"stop": {"maxEpochs": 2000}}, sync={"scheme": "Auto"}, chaos=slow))
    wait_until(f"{job.name}: k=3", lambda: scheme_column(job) == ["Auto+Barrier", "k=3"], 180, job.describe)


def scheme_column(job):
    names, values = job.namespace.kubectl("get", "tj", job.name).splitlines()
    return values[names.index(" SCHEME ") + 1:].split()[:2]  # By its place: a column may be empty.
