"""Claims that a job makes for its checkpoints: they stay, and the next job of that name uses what lies on them where it says so."""
from job import ENDLESS, paced
from kubectl import wait_until

CLAIMS = ["digits-checkpoint-0", "digits-checkpoint-1"]


def with_claims(**checkpoint):
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "64Mi"}}}}
    return paced(ENDLESS, workers={"replicas": 2}, checkpoint={"periodSeconds": 2, "volumeClaimTemplate": template, **checkpoint})


def claims_of(namespace):
    return sorted(claim["metadata"]["name"] for claim in namespace.list("persistentvolumeclaims", "paceline.dev/job=digits"))


def wait_for_note(job, words):
    wait_until(f"a note that says {words}", lambda: all(word in job.status().get("checkpointNote", "") for word in words), 180,
               job.describe)


def wait_for_checkpoint(job, version):
    wait_until(f"checkpoint of version {version}", lambda: job.status().get("checkpoint", {}).get("version", 0) >= version, 180,
               job.describe)


def end(job):
    job.namespace.delete("trainingjob", job.name)
    job.wait_for_no_pods(120)


def test_claims_stay_and_the_next_job_goes_on_only_where_it_says_so(namespace, start_job):
    first = start_job(with_claims())
    wait_for_checkpoint(first, 10)
    uid = first.get()["metadata"]["uid"]
    end(first)
    assert claims_of(namespace) == CLAIMS

    second = start_job(with_claims())
    wait_for_note(second, ["begins anew", uid, "FromClaim"])
    assert "CheckpointsFound" in [reason for reason, _ in namespace.events("digits")]
    end(second)

    third = start_job(with_claims(resume="FromClaim", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"}))
    wait_for_note(third, ["goes on from version"])
    # What another job has made is not this one's to delete.
    wait_until("ClaimKept", lambda: "ClaimKept" in [reason for reason, _ in namespace.events("digits")], 60, third.describe)
    end(third)
    assert claims_of(namespace) == CLAIMS


def test_claims_go_with_a_job_that_says_so(namespace, start_job):
    job = start_job(with_claims(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"}))
    wait_for_checkpoint(job, 1)
    assert claims_of(namespace) == CLAIMS
    end(job)
    job.wait_for_nothing_left(120)
