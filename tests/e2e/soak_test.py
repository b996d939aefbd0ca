"""Random faults to a cluster whose jobs go on: all end Succeeded, what is over stays over, nothing is left behind.

PACELINE_E2E_SOAK_SECONDS is for how long (without it: one minute; 0: not at all), PACELINE_E2E_SOAK_SEED plays one again. It takes
minutes because recovery does: silence is noticed after seconds, nodes and the API server are away for as long."""
import os
import random
import time

import install
import nodes
import pytest

from eventually import eventually
from job import Job, paced
from kubectl import CommandFailed, kubectl, wait_until

SECONDS = float(os.environ.get("PACELINE_E2E_SOAK_SECONDS", "60"))
SEED = int(os.environ.get("PACELINE_E2E_SOAK_SEED", str(random.SystemRandom().randrange(10**6))))
SIDE_BY_SIDE = 2
EPOCHS = 12
API_RESTARTS_MAX = 2  # Its kubelet lets a container that ended more often wait for minutes.
CALM_SECONDS = 300  # Once there are no faults any more, all end within it.


class Jobs:
    """As many at a time as run side by side; what was over stays to be looked at, until the end."""

    def __init__(self, namespace, claim):
        self.namespace, self.claim = namespace, claim
        self.running, self.over, self.starts = [], {}, {}

    def start(self):
        name = f"soak-{len(self.starts)}"
        self.namespace.apply(paced(EPOCHS, name, workers={"replicas": 2}, runPolicy={"nodeLostSeconds": 10},
                                   checkpoint={"volume": self.claim.source(), "periodSeconds": 2}))
        self.starts[name] = 0
        self.running.append(Job(self.namespace, name))

    def look(self):
        """At those that run; whether all of them are over."""
        for job in list(self.running):
            status = job.status()
            conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
            assert conditions.get("Failed") != "True", job.describe()
            starts = status.get("coordinatorStarts", 0)
            assert starts >= self.starts[job.name], f"{job.name} has forgotten its coordinator's life"
            self.starts[job.name] = starts
            if conditions.get("Succeeded") == "True":
                self.running.remove(job)
                self.over[job] = status["completionTime"]
                assert status["progress"]["epoch"] == EPOCHS, "a sample is lost, or counts twice"
        return not self.running

    def watch(self, seconds):
        """Looks at those that run until all of them are over, but no longer than that."""
        def look():
            try:
                return self.look()
            except CommandFailed as trouble:  # What was just restarted may not answer yet.
                print(trouble)
                return False
        eventually(look, seconds, every_seconds=1)

    def check_what_is_over(self):
        for job, completion_time in self.over.items():
            status = job.status()
            assert status["state"] == "Succeeded" and status["completionTime"] == completion_time, job.describe()
            told = [reason for reason, _ in self.namespace.events(job.name) if reason == "TrainingSucceeded"]
            assert told == ["TrainingSucceeded"], job.describe()
            wait_until(f"nothing of {job.name} runs any more", lambda: not [
                name for name, pod in job.pods().items() if pod["status"].get("phase") not in ("Succeeded", "Failed")
                and name != f"{job.name}-ps-0"], 60, job.describe)  # That one serves the model.


class Faults:
    def __init__(self, chance, jobs):
        self.chance, self.jobs = chance, jobs
        self.deck, self.done, self.api_restarts = [], 0, 0

    def do_next(self):
        """One of them; each comes up in turn, in an order of chance."""
        if not self.deck:
            self.deck = [self.delete_pod] * 4 + [self.pause_node, self.kill_operator]
            if self.api_restarts < API_RESTARTS_MAX:
                self.deck.append(self.restart_api_server)
            self.chance.shuffle(self.deck)
        fault = self.deck.pop()
        print(f"{time.strftime('%H:%M:%S')} {fault.__name__} {fault()}")
        self.done += 1

    def delete_pod(self):
        if not self.jobs.running:
            return "none runs"
        job = self.chance.choice(self.jobs.running)
        pods = sorted(name for name, pod in job.pods().items() if pod["status"].get("phase") == "Running")
        if not pods:
            return "none runs"
        pod = self.chance.choice(pods)
        grace = self.chance.choice(["--grace-period=0 --force", "--wait=false"]).split()
        job.namespace.delete("pod", pod, *grace)
        return f"{pod} {grace[0]}"

    def pause_node(self):
        node = self.chance.choice(nodes.workers())
        nodes.pause(node)
        try:
            self.jobs.watch(self.chance.uniform(3, 12))
        finally:
            nodes.unpause(node)
        return node

    def restart_api_server(self):
        self.api_restarts += 1
        nodes.kill_api_server()
        wait_until("the API server is back", lambda: kubectl("get", "--raw", "/readyz") == "ok", 120)
        return ""

    def kill_operator(self):
        kubectl("-n", install.NAMESPACE, "delete", "pods", "-l", "app.kubernetes.io/component=operator", "--force", "--grace-period=0")
        return ""


@pytest.mark.alone
@pytest.mark.skipif(SECONDS == 0, reason="PACELINE_E2E_SOAK_SECONDS is 0")
@pytest.mark.timeout(SECONDS + CALM_SECONDS + 300)
def test_soak(namespace, shared_claim):
    nodes.need_kind()
    print(f"PACELINE_E2E_SOAK_SEED={SEED}, {SECONDS:.0f} s")
    chance = random.Random(SEED)
    jobs = Jobs(namespace, shared_claim("soak"))
    faults = Faults(chance, jobs)
    for _ in range(SIDE_BY_SIDE):
        jobs.start()
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        jobs.watch(chance.uniform(2, 8))  # Between two faults.
        try:
            faults.do_next()
            jobs.look()
            while len(jobs.running) < SIDE_BY_SIDE:
                jobs.start()
        except CommandFailed as trouble:  # What was just restarted may not answer yet.
            print(trouble)
    wait_until("all jobs are over", jobs.look, CALM_SECONDS, lambda: namespace.kubectl("describe", "trainingjobs", check=False))
    jobs.check_what_is_over()
    assert faults.done >= SECONDS / 30, f"only {faults.done} faults"
    print(f"{len(jobs.over)} jobs; how often their coordinators were started: {jobs.starts}")
    namespace.kubectl("delete", "trainingjobs", "--all", "--wait=true", "--timeout=120s")
    for job in jobs.over:
        job.wait_for_nothing_left(120)
