#!/usr/bin/env python3
"""What somebody who is admin of one namespace can do with Paceline there, on a real API server: install it, once a cluster admin has
prepared for it; and what a cluster admin can keep job templates there from."""
import unittest

import yaml

from chart import CHART, HELM, flags, of_kind, things
from rights import all_rights, at_home, where_jobs_are
from tools import eventually, kubectl, load, main, must, run

LENA = "lena"
TEAM = "team"
ANYBODY = "system:serviceaccount:default:anybody"
OPERATOR = f"system:serviceaccount:{TEAM}:paceline-operator"
# As docs/install.md says.
ADMINS_OWN = [f"operator.namespace={TEAM}", "crds.install=false", "rbac.clusterScoped=false"]

AGGREGATES = "rbac.authorization.k8s.io/aggregate-to-"
POLICY_SECONDS = 60  # Until an API server acts by a new policy.


def bind(name, role, namespace=TEAM):
    kubectl("-n", namespace, "create", "rolebinding", name, f"--clusterrole={role}", f"--user={LENA}")


def make_admin():
    kubectl("create", "namespace", TEAM)
    # What the controller that is not here would gather as the role admin.
    for role in ("admin", "edit", "view"):
        bind(f"k8s-{role}", f"system:aggregate-to-{role}")


def install(settings=()):
    return run(HELM, "install", "paceline", CHART, "--namespace", TEAM, "--kube-as-user", LENA, *flags([*ADMINS_OWN, *settings]))


def refused(settings):
    code, _, errors = run(HELM, "template", "paceline", CHART, "--namespace", TEAM, *flags(settings))
    return errors if code != 0 else ""


class RenderedTest(unittest.TestCase):
    def test_one_namespace_without_aggregation_grants_nothing_cluster_wide(self):
        objects = things([f"operator.namespace={TEAM}", "rbac.aggregate=false"])
        self.assertEqual(of_kind(objects, "ClusterRoleBinding"), [])
        labels = [label for role in of_kind(objects, "ClusterRole") for label in role["metadata"]["labels"]]
        self.assertEqual([label for label in labels if label.startswith(AGGREGATES)], [])

    def test_an_admins_own_release_has_nothing_outside_of_the_namespace(self):
        objects = things(ADMINS_OWN, namespace=TEAM)
        self.assertEqual({thing["metadata"].get("namespace") for thing in objects}, {TEAM})
        editor = [role for role in of_kind(objects, "Role") if role["metadata"]["name"] == "paceline-trainingjobs-editor"]
        self.assertEqual(editor[0]["rules"], load("deploy/rbac/users.yaml")[0]["rules"])

    def test_what_needs_more_is_refused_in_words(self):
        self.assertIn("set operator.namespace to the namespace", refused(ADMINS_OWN[1:]))
        self.assertIn("set crds.install=false, and have a cluster admin apply deploy/crd", refused([ADMINS_OWN[0], ADMINS_OWN[2]]))

    def test_the_installers_role_is_what_the_release_grants(self):
        [role] = load("deploy/installer.yaml")
        operators = load("deploy/rbac/operator.yaml")[0]["rules"]
        self.assertEqual(role["rules"][:len(operators)], operators)
        self.assertNotIn("aggregationRule", role)
        self.assertEqual([label for label in role["metadata"]["labels"] if label.startswith(AGGREGATES)], [])


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        make_admin()
        kubectl("apply", "--server-side", "-f", "deploy/crd", "-f", "deploy/installer.yaml")

    def test_an_admin_of_one_namespace_installs_it(self):
        code, _, errors = install()
        self.assertNotEqual(code, 0, "an admin handed on rights that she has not")
        self.assertIn("attempting to grant RBAC permissions not currently held", errors)
        must(HELM, "uninstall", "paceline", "--namespace", TEAM)
        bind("installer", "paceline-installer")
        code, _, errors = install()
        self.assertEqual(code, 0, errors)
        anybody = all_rights(ANYBODY, "default")
        self.assertEqual(all_rights(OPERATOR, TEAM) - anybody, where_jobs_are() | at_home())
        self.assertEqual(all_rights(OPERATOR, "default") - anybody, set())


class PolicyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        kubectl("apply", "--server-side", "-f", "deploy/crd", "-f", "deploy/policies/templates.yaml")
        kubectl("create", "namespace", "guarded")
        kubectl("label", "namespace", "guarded", "paceline.dev/templates=guarded")
        kubectl("wait", "--for=condition=Established", "crd/trainingjobs.paceline.dev", "--timeout=60s")

    def said(self, change, namespace="guarded"):
        [job] = [thing for thing in load("deploy/samples/digits.yaml") if thing["kind"] == "TrainingJob"]
        change(job["spec"])
        code, _, errors = run("kubectl", "-n", namespace, "create", "--dry-run=server", "-f", "-", text=yaml.safe_dump(job))
        return errors if code != 0 else ""

    def test_templates_are_kept_to_the_namespaces_own(self):
        def pod(role, **spec):
            return lambda job: job.setdefault(role, {}).setdefault("template", {}).update(spec=spec)

        def group(job):
            for one in ("replicas", "minReplicas", "maxReplicas", "template", "device", "threads"):
                job["workers"].pop(one, None)
            job["workers"]["groups"] = [{"name": "big", "replicas": 2, "template": {"spec": {"hostPID": True}}}]

        on_host = {"hostPath": {"path": "/etc"}}
        token = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        folders, privileges, account = "folders of the host", "privileges or namespaces of the host", "act as a ServiceAccount"
        cases = [
            (pod("workers", volumes=[{"name": "etc", **on_host}]), folders),
            (lambda job: job.update(output={"volume": on_host}), folders),
            (pod("parameterServer", hostNetwork=True), privileges),
            (group, privileges),
            (pod("workers", initContainers=[{"name": "one", "securityContext": {"privileged": True}}]), privileges),
            (pod("evaluator", serviceAccountName="builder"), account),
            (pod("workers", automountServiceAccountToken=True), account),
            (pod("workers", volumes=[{"name": "token", **token}]), account),
        ]
        eventually(lambda: self.said(cases[0][0]), POLICY_SECONDS)
        for number, (change, expected) in enumerate(cases):
            with self.subTest(number):
                self.assertIn(expected, self.said(change))
                self.assertEqual(self.said(change, "default"), "", "without the policy it is a valid job")
        for allowed in (lambda job: None, pod("workers", volumes=[{"name": "scratch", "emptyDir": {}}], serviceAccountName="default")):
            self.assertEqual(self.said(allowed), "")


if __name__ == "__main__":
    main()
