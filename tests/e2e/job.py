"""A TrainingJob in a namespace: its manifest, its conditions, its pods."""
import copy
import json
from pathlib import Path

import yaml

from kubectl import wait_until

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = yaml.safe_load((ROOT / "deploy/samples/digits.yaml").read_text())
PACE = {"enabled": True, "seed": 1, "delays": [{"kind": "Constant", "seconds": 0.1}]}
ENDLESS = 2000
STANDSTILL_SECONDS = 120  # Of a job none of whose steps comes. A pod starts in seconds, on a busy machine in many.
RESTART_SECONDS = 180


def merged(into, changes):
    """`into` with `changes` over it, member by member; None removes."""
    result = copy.deepcopy(into)
    for name, value in changes.items():
        if value is None:
            result.pop(name, None)
        elif isinstance(value, dict) and isinstance(result.get(name), dict):
            result[name] = merged(result[name], value)
        else:
            result[name] = copy.deepcopy(value)
    return result


def digits(name="digits", **spec):
    """The sample job under that name, with changes of its spec: digits(workers={"replicas": 2})."""
    manifest = merged(SAMPLE, {"spec": spec})
    manifest["metadata"]["name"] = name
    return manifest


def paced(epochs, name="digits", **spec):
    """The sample job in steps that sleep: an epoch takes two and a half seconds, hardly depends on the machine, and leaves it to
    the other jobs on it."""
    return digits(name, training={"stop": {"maxEpochs": epochs}}, chaos=PACE, **spec)


class Job:
    def __init__(self, namespace, name):
        self.namespace = namespace
        self.name = name
        self.step = 0  # When the status was read last.

    def get(self):
        return self.namespace.get("trainingjob", self.name)

    def status(self):
        status = (self.get() or {}).get("status", {})
        self.step = status.get("progress", {}).get("step", 0)
        return status

    def condition(self, kind):
        """The condition of that type; {} if there is none yet."""
        return next((c for c in self.status().get("conditions", []) if c["type"] == kind), {})

    def patch(self, **spec):
        self.namespace.patch("trainingjob", self.name, {"spec": spec})

    def pods(self, role=None):
        """By name; of the role ps, worker or evaluator, or all."""
        selector = f"paceline.dev/job={self.name}" + (f",paceline.dev/role={role}" if role else "")
        return {pod["metadata"]["name"]: pod for pod in self.namespace.list("pods", selector)}

    def container_ids(self, role=None):
        """By pod that is to stay: who restarts changes his."""
        return {name: [c.get("containerID", "") for c in pod["status"].get("containerStatuses", [])]
                for name, pod in self.pods(role).items() if "deletionTimestamp" not in pod["metadata"]}

    def wait_for(self, kind, deadline_seconds, status="True"):
        """Waits until the condition has that status, as long as steps come; returns it. Ends at once, with the reason, if the job
        has failed and that is not what is waited for."""
        def has_come():
            condition = self.condition(kind)
            if condition.get("status") == status:
                return condition
            failed = self.condition("Failed")
            if kind != "Failed" and failed.get("status") == "True":
                raise AssertionError(f"{self.name} failed: {failed.get('reason')}: {failed.get('message')}")
            return None
        return wait_until(f"{self.name}: condition {kind} = {status}", has_come, deadline_seconds, self.describe, position=lambda: self.step)

    def wait_for_message(self, kind, words, deadline_seconds, status=None):
        """Waits until the condition's message holds all the words, and it has the status if one is given; returns the message."""
        def has_come():
            condition = self.condition(kind)
            message = condition.get("message", "")
            fits = status is None or condition.get("status") == status
            return message if fits and all(word in message for word in words) else None
        return wait_until(f"{self.name}: {kind} says {words}", has_come, deadline_seconds, self.describe)

    def wait_for_scheme(self, scheme, deadline_seconds):
        wait_until(f"{self.name}: scheme {scheme}", lambda: self.status().get("sync", {}).get("scheme") == scheme, deadline_seconds,
                   self.describe)

    def wait_for_nothing_left(self, deadline_seconds):
        """Waits until nothing in the namespace belongs to the job any more."""
        kinds = "pods,services,configmaps,secrets,networkpolicies,poddisruptionbudgets,persistentvolumeclaims"
        selector = f"paceline.dev/job={self.name}"
        wait_until(f"{self.name}: nothing left", lambda: not self.namespace.list(kinds, selector), deadline_seconds)

    def wait_for_step(self, step, deadline_seconds=STANDSTILL_SECONDS):
        """Waits until the status shows that step or a later one, as long as steps come; returns the progress."""
        def has_come():
            progress = self.status().get("progress", {})
            return progress if progress.get("step", 0) >= step else None
        return wait_until(f"{self.name}: step {step}", has_come, deadline_seconds, self.describe, position=lambda: self.step)

    def wait_for_no_pods(self, deadline_seconds):
        wait_until(f"{self.name}: no pods", lambda: not self.pods(), deadline_seconds, self.describe)

    def wait_for_pods(self, role, count, deadline_seconds, phase="Running"):
        def are_there():
            found = {name: pod for name, pod in self.pods(role).items() if pod["status"].get("phase") == phase
                     and "deletionTimestamp" not in pod["metadata"]}
            return found if len(found) == count else None
        return wait_until(f"{self.name}: {count} pods of role {role} {phase}", are_there, deadline_seconds, self.describe)

    def final_state(self):
        """The job's last state: what its coordinator says while it serves the model, or leaves as a termination message when it
        ends, a moment after the job."""
        def last_word():
            pod = f"{self.name}-ps-0"
            state = self.pods("ps")[pod]["status"]["containerStatuses"][0]["state"]
            if "terminated" in state or self.status().get("model", {}).get("state") != "Available":
                return state.get("terminated", {}).get("message")
            return self.namespace.kubectl("get", "--raw",
                                          f"/api/v1/namespaces/{self.namespace.name}/pods/{pod}:7602/proxy/v1/job")
        return json.loads(wait_until(f"{self.name}: last word of the coordinator", last_word, 60, self.describe))

    def assert_every_sample_counted_once(self, epochs):
        """Of a job that went through without a rollback."""
        state = self.final_state()
        assert state["committedSamples"] == epochs * state["trainSamples"]

    def uids(self, role=None):
        return {name: pod["metadata"]["uid"] for name, pod in self.pods(role).items()}

    def wait_for_another(self, pod, uid, deadline_seconds=RESTART_SECONDS):
        """Waits until a pod of that name runs that is not the one with that uid; returns it."""
        def has_come():
            found = self.pods().get(pod)
            return found if found and found["metadata"]["uid"] != uid and found["status"].get("phase") == "Running" else None
        return wait_until(f"another {pod}", has_come, deadline_seconds, self.describe)

    def describe(self):
        return self.namespace.kubectl("describe", "trainingjob", self.name, check=False)
