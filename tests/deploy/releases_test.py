#!/usr/bin/env python3
"""Several releases of the chart in one cluster, and a release that comes from the chart of an earlier commit."""
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import yaml

from chart import HELM, CHART, SETTINGS, former_chart, flags, key, of_kind, things
from tools import ROOT, kubectl, main, must, run

# What cannot be changed of an object that exists.
FIXED = {"Deployment": lambda thing: thing["spec"]["selector"], "RoleBinding": lambda thing: thing["roleRef"],
         "ClusterRoleBinding": lambda thing: thing["roleRef"]}

# Kinds that this API server does not have, and the one that the former release was made without.
ELSEWHERE = ("ServiceMonitor", "PodMonitor", "PrometheusRule", "CustomResourceDefinition")

# A second release of a cluster leaves to the first one what there is once.
SECOND = ["crds.install=false", "rbac.users.create=false"]

# name: (release, namespace, settings) of two that stand side by side.
PAIRS = {
    "two teams in one namespace": (("a", "machines", ["operator.namespace=team-a"]),
                                   ("b", "machines", ["operator.namespace=team-b", "crds.install=false"])),
    "one name in two namespaces": (("paceline", "one", []), ("paceline", "two", SECOND)),
    "one name in two namespaces for one team": (("paceline", "one", ["operator.namespace=team"]),
                                                ("paceline", "team", ["operator.namespace=team", *SECOND])),
}


def fixed(objects):
    return {key(thing): FIXED[thing["kind"]](thing) for thing in objects if thing["kind"] in FIXED}


def selectors(objects):
    """All by which the operator's pods are found."""
    [deployment] = of_kind(objects, "Deployment")
    found = [deployment["spec"]["selector"]["matchLabels"]]
    found += [thing["spec"]["selector"] for thing in of_kind(objects, "Service")]
    found += [thing["spec"]["selector"]["matchLabels"] for thing in of_kind(objects, "PodDisruptionBudget")]
    return found, deployment["spec"]["template"]["metadata"]["labels"]


def arguments(objects):
    return of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"]


def rules_of(objects, name):
    [role] = [thing for thing in of_kind(objects, "Role") if thing["metadata"]["name"] == name]
    return role["rules"]


class NamesTest(unittest.TestCase):
    def test_two_releases_share_no_object(self):
        for name, pair in PAIRS.items():
            with self.subTest(name):
                first, second = ({key(thing) for thing in things(settings, release=release, namespace=namespace)}
                                 for release, namespace, settings in pair)
                self.assertEqual(first & second, set())

    def test_renamed_roles_are_made_before_argo_cd_prunes(self):
        renamed = [thing for thing in things([]) if thing["metadata"]["name"] == "paceline-operator:paceline-system"]
        self.assertEqual([thing["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"] for thing in renamed], ["-1", "-1"])

    def test_what_all_releases_share_is_made_where_it_is_asked_for(self):
        ours, others = ({key(thing) for thing in things(settings)} for settings in ([], SECOND))
        self.assertEqual(ours - others, {("CustomResourceDefinition", "", "trainingjobs.paceline.dev"),
                                         ("ClusterRole", "", "paceline-trainingjobs-editor"),
                                         ("ClusterRole", "", "paceline-trainingjobs-viewer")})

    def test_the_lease_is_the_releases_and_the_former_one_may_be_held(self):
        for release, name in (("a", "a-paceline-operator"), ("paceline", "paceline-operator")):
            objects = things([], release=release)
            self.assertIn(f"--installation={name}", arguments(objects))
            self.assertEqual(rules_of(objects, f"{name}-leader-election")[1], {
                "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
                "resourceNames": [f"{name}-leader", "paceline-operator"],
                "verbs": ["get", "update", "patch"]})

    def test_adopted_installations_are_named_and_their_seeds_can_be_read(self):
        objects = things(["operator.adopt.installations={one,two}", "operator.adopt.seedSecrets={former-seed}"])
        self.assertLessEqual({"--adopt=one", "--adopt=two", "--adopt-seed=former-seed"}, set(arguments(objects)))
        self.assertEqual(rules_of(objects, "paceline-operator-authority")[1], {
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["paceline-operator-authority", "former-seed"],
            "verbs": ["get"]})
        self.assertEqual([a for a in arguments(things([])) if a.startswith("--adopt")], [])

    def test_values_of_an_older_chart_alone_are_refused(self):
        code, _, errors = run(HELM, "template", CHART, "--set", "rbac.users=null")  # As --reuse-values would have it.
        self.assertNotEqual(code, 0)
        self.assertIn("upgrade with --reset-then-reuse-values in place of --reuse-values", errors)

    def test_no_value_reaches_a_selector(self):
        expected = {"app.kubernetes.io/name": "paceline", "app.kubernetes.io/instance": "paceline",
                    "app.kubernetes.io/component": "operator"}
        for name, settings in SETTINGS.items():
            with self.subTest(name):
                found, labels = selectors(things(settings))
                self.assertEqual([one for one in found if one != expected], [])
                self.assertLessEqual(expected.items(), labels.items())


class UpgradeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="former.")
        cls.addClassCleanup(folder.cleanup)
        cls.former = former_chart(folder.name)

    def test_nothing_that_is_fixed_changes(self):
        for where in ([], ["operator.namespace=research"]):
            before = fixed(things(where, chart=self.former))
            for name, settings in SETTINGS.items():
                with self.subTest(name, where=where):
                    after = fixed(things([*settings, *where]))
                    self.assertEqual({one: after[one] for one in before if one in after},
                                     {one: before[one] for one in before if one in after})

    def test_a_release_of_the_former_chart_is_upgraded_and_rolled_back(self):
        release = ["former", "--namespace", "upgraded"]
        must(HELM, "install", release[0], str(self.former), *release[1:], "--create-namespace", "--set=crds.install=false")
        kubectl("create", "namespace", "research")
        for name, settings in SETTINGS.items():
            with self.subTest(name):
                after = [thing for thing in things(settings, release="former", namespace="upgraded")
                         if thing["kind"] not in ELSEWHERE and thing["metadata"]["name"] != "extra"]
                kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", "-", text=yaml.safe_dump_all(after))
        said = run(HELM, "upgrade", release[0], CHART, *release[1:], "--debug", "--set=crds.install=false", *flags(SETTINGS["upgraded"]))
        self.assertEqual(said[0], 0, said[2])
        # Nobody is without rights in between.
        made, gone = ([match.start() for match in re.finditer(pattern, said[2])] for pattern in
                      (r'Created a new ClusterRole(Binding)? called "former-paceline-operator:upgraded"',
                       r'Deleting ClusterRole(Binding)? "former-paceline-operator" '))
        self.assertEqual((len(made), len(gone)), (2, 2), said[2])
        self.assertLess(max(made), min(gone))
        must(HELM, "rollback", *release)
        self.assertIn("clusterrolebinding.rbac.authorization.k8s.io/former-paceline-operator\n",
                      kubectl("get", "clusterrolebindings", "-o", "name"))


class SchemaTest(unittest.TestCase):
    def test_an_upgrade_brings_the_crds_schema_and_a_rollback_takes_it_back(self):
        def known():
            return kubectl("get", "crd", "trainingjobs.paceline.dev", "-o", "jsonpath={.spec.names.shortNames}")

        release = ["schema", "--namespace", "schema"]
        without_roles = "--set=rbac.users.create=false"
        with tempfile.TemporaryDirectory(prefix="later.") as folder:
            later = Path(folder) / "paceline"
            shutil.copytree(ROOT / CHART, later)
            crd = later / "files/trainingjobs.yaml"
            crd.write_text(crd.read_text().replace("shortNames: [tj]", "shortNames: [tj, training]"))
            must(HELM, "install", release[0], CHART, *release[1:], "--create-namespace", without_roles)
            before = known()
            must(HELM, "upgrade", release[0], str(later), *release[1:], without_roles)
            self.assertNotEqual(known(), before)
            must(HELM, "rollback", *release)
            self.assertEqual(known(), before)
            # Kept where the release no longer has it, and then nobody's but whose who applies it.
            must(HELM, "upgrade", release[0], str(later), *release[1:], without_roles, "--set=crds.install=false")
            self.assertEqual(known(), before)
            kubectl("apply", "--server-side", "--force-conflicts", "-f", str(crd))
            self.assertNotEqual(known(), before)


class SideBySideTest(unittest.TestCase):
    def test_a_cluster_takes_all_of_them(self):
        for namespace in ("team-a", "team-b"):
            kubectl("create", "namespace", namespace)
        for name in ("two teams in one namespace", "one name in two namespaces"):
            for release, namespace, settings in PAIRS[name]:
                without_crd = flags(["crds.install=false"])  # There are no jobs.
                must(HELM, "install", release, CHART, "--namespace", namespace, "--create-namespace", *flags(settings), *without_crd)


if __name__ == "__main__":
    main()
