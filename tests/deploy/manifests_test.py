#!/usr/bin/env python3
"""The plain manifests, on a real API server: all of them are accepted, and the operator may do its work and nothing else."""
import unittest

import yaml

from rights import all_rights, at_home, where_jobs_are
from tools import ROOT, kubectl, load, main, run

OPERATOR = "system:serviceaccount:paceline-system:paceline-operator"
ANYBODY = "system:serviceaccount:default:anybody"
ALL = ["-f", "deploy/crd", "-f", "deploy/rbac", "-f", "deploy/operator.yaml"]

def may(verb, resource, namespace, user=OPERATOR, name=None):
    what = resource if name is None else f"{resource}/{name}"
    if name is None and "/" in resource:
        resource, sub = resource.split("/")
        return run("kubectl", "auth", "can-i", verb, resource, f"--subresource={sub}", f"--as={user}", "-n", namespace)[0] == 0
    return run("kubectl", "auth", "can-i", verb, what, f"--as={user}", "-n", namespace)[0] == 0


class ManifestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kubectl("apply", "--server-side", *ALL)
        kubectl("wait", "--for=condition=Established", "crd/trainingjobs.paceline.dev", "--timeout=60s")

    def test_client_side_apply_works_too(self):
        kubectl("apply", "--dry-run=server", *ALL)

    def test_the_namespace_would_take_the_operators_pod(self):
        # Pod security warns of a Deployment whose pods it would refuse.
        code, _, errors = run("kubectl", "apply", "--dry-run=server", "-f", "deploy/operator.yaml")
        self.assertEqual(code, 0, errors)
        self.assertNotIn("would violate PodSecurity", errors)
        kubectl("label", "namespace", "default", "pod-security.kubernetes.io/warn=restricted", "--overwrite")
        pod = {**load("deploy/operator.yaml")[0]["spec"]["template"], "apiVersion": "v1", "kind": "Pod"}
        pod["metadata"] = {**pod["metadata"], "name": "operator", "namespace": "paceline-system"}
        kubectl("create", "--dry-run=server", "-f", "-", text=yaml.safe_dump(pod))

    def test_samples_are_accepted_unchanged(self):
        samples = sorted((ROOT / "deploy/samples").glob("*.yaml"))
        self.assertGreaterEqual(len(samples), 7)
        for sample in samples:
            with self.subTest(sample=sample.name):
                kubectl("apply", "--dry-run=server", "-f", str(sample))

    def test_shared_volume_is_accepted(self):
        kubectl("apply", "--dry-run=server", "-f", "deploy/kind/shared-volume.yaml")

    # Of its work the suites of tests/operator do all with these rights.
    def test_the_operator_may_do_nothing_else(self):
        anybody = all_rights(ANYBODY, "default")
        self.assertEqual(all_rights(OPERATOR, "default") - anybody, where_jobs_are())
        self.assertEqual(all_rights(OPERATOR, "paceline-system") - anybody, where_jobs_are() | at_home())

    def test_leases_are_its_own_alone(self):
        lease = "leases.coordination.k8s.io"
        self.assertTrue(may("create", lease, "paceline-system"))
        self.assertTrue(may("update", lease, "paceline-system", name="paceline-operator"))
        self.assertTrue(may("update", lease, "paceline-system", name="paceline-operator-leader"))
        self.assertFalse(may("update", lease, "paceline-system", name="another"))
        self.assertFalse(may("get", lease, "default", name="paceline-operator"))

    def test_people_may_use_jobs_as_their_roles_say(self):
        # Aggregation is a controller's work and none runs here; the labels by which it aggregates are what can be seen.
        roles = {role["metadata"]["name"]: role["metadata"]["labels"] for role in load("deploy/rbac/users.yaml")}
        aggregate = "rbac.authorization.k8s.io/aggregate-to-"
        self.assertEqual(roles["paceline-trainingjobs-editor"][aggregate + "edit"], "true")
        self.assertEqual(roles["paceline-trainingjobs-viewer"][aggregate + "view"], "true")
        for role, verb, expected in (("editor", "create", True), ("viewer", "list", True), ("viewer", "create", False)):
            user = f"{role}-of-jobs"
            kubectl("create", "clusterrolebinding", f"{user}-{verb}", f"--clusterrole=paceline-trainingjobs-{role}", f"--user={user}")
            self.assertEqual(may(verb, "trainingjobs", "default", user=user), expected, f"{role} {verb}")

    def test_one_namespace_has_the_same_rules(self):
        everywhere = load("deploy/rbac/operator.yaml")[0]["rules"]
        in_one = load("deploy/rbac-namespaced/operator.yaml")[0]["rules"]
        self.assertEqual(everywhere, in_one)
        kubectl("create", "namespace", "research")
        kubectl("apply", "--dry-run=server", "-n", "research", "-f", "deploy/rbac-namespaced")


if __name__ == "__main__":
    main()
