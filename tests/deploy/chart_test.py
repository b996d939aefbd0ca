#!/usr/bin/env python3
"""The Helm chart: it lints, its copies are true copies, and a real API server accepts what it renders."""
import unittest

import yaml

from chart import CHART, HELM, SETTINGS, flags, of_kind, render, things
from rights import at_home, granted, where_jobs_are
from tools import ROOT, kubectl, load, main, must, run

# Kinds of the Prometheus operator, which is not part of a cluster.
FOREIGN = {"ServiceMonitor": "servicemonitors", "PodMonitor": "podmonitors", "PrometheusRule": "prometheusrules"}


def foreign_crd(kind, plural):
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {"group": "monitoring.coreos.com", "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]},
    }


class ChartTest(unittest.TestCase):
    def test_lints(self):
        for name, settings in SETTINGS.items():
            with self.subTest(settings=name):
                must(HELM, "lint", "--strict", CHART, *flags(settings))

    def test_an_unknown_value_is_refused_by_its_name(self):
        for value in ("operator.replica=2", "operator.threads=0", "image.operator.digest=sha256:12", "crds.keep=maybe"):
            with self.subTest(value=value):
                code, _, errors = run(HELM, "template", CHART, "--set", value)
                self.assertNotEqual(code, 0)
                self.assertIn(value.split("=")[0].replace(".", "/").rsplit("/", 1)[0], errors.replace("'", ""))

    def test_copies_are_true(self):
        copies = {"deploy/crd/trainingjobs.yaml": "files/trainingjobs.yaml", "deploy/prometheus/rules.yaml": "files/rules.yaml"}
        copies |= {f"deploy/grafana/{file.name}": f"files/dashboards/{file.name}" for file in (ROOT / "deploy/grafana").iterdir()}
        for original, copy in copies.items():
            with self.subTest(copy=copy):
                self.assertEqual((ROOT / original).read_text(), (ROOT / CHART / copy).read_text(), "make chart copies it anew")
        self.assertEqual(len(copies) - 2, len(list((ROOT / CHART / "files/dashboards").iterdir())))

    def test_rules_are_those_of_the_plain_manifests(self):
        rules = load("deploy/rbac/operator.yaml")[0]["rules"]
        roles = {role["metadata"]["name"]: role for role in things([]) if role["kind"] == "ClusterRole"}
        self.assertEqual(roles["paceline-operator:paceline-system"]["rules"], rules)
        for plain in load("deploy/rbac/users.yaml"):
            self.assertEqual(roles[plain["metadata"]["name"]]["rules"], plain["rules"])
        at_home = {role["metadata"]["name"]: role["rules"] for role in of_kind(things([]), "Role")}
        for file in ("authority", "leader-election"):
            plain = load(f"deploy/rbac/{file}.yaml")[0]
            self.assertEqual(at_home.pop(plain["metadata"]["name"]), plain["rules"])
        self.assertEqual(at_home, {})

    def test_all_that_is_granted_is_what_is_written_down(self):
        for name, settings in SETTINGS.items():
            with self.subTest(settings=name):
                where = "research" if "operator.namespace=research" in settings else ""
                self.assertEqual(granted(things(settings), "paceline-system"),
                                 {where: where_jobs_are(), "paceline-system": at_home()})

    def test_the_container_is_that_of_the_plain_manifests(self):
        plain = load("deploy/operator.yaml")[0]["spec"]["template"]["spec"]
        ours = of_kind(things([]), "Deployment")[0]["spec"]["template"]["spec"]
        extra = {"--gang-scheduler=none", "--threads=4", "--lease=paceline-operator"}  # Said in the chart, the program's defaults in the other.
        ours["containers"][0]["args"] = [a for a in ours["containers"][0]["args"] if a not in extra]
        for container in ours["containers"][0], plain["containers"][0]:  # Which differ: the chart's have its release.
            container["args"] = [a for a in container["args"] if not a.startswith("--operator-labels=")]
        self.assertEqual(ours, plain)

    def test_the_operator_is_told_the_labels_that_its_pods_have(self):
        for deployment in load("deploy/operator.yaml")[0], of_kind(things([]), "Deployment")[0]:
            [told] = [a.split("=", 1)[1] for a in deployment["spec"]["template"]["spec"]["containers"][0]["args"]
                      if a.startswith("--operator-labels=")]
            told = dict(pair.split("=") for pair in told.split(","))
            self.assertEqual(told, deployment["spec"]["selector"]["matchLabels"])
            self.assertLessEqual(told.items(), deployment["spec"]["template"]["metadata"]["labels"].items())

    def test_one_namespace_needs_no_cluster_wide_right(self):
        objects = things(SETTINGS["one namespace"])
        self.assertEqual([role["metadata"]["name"] for role in of_kind(objects, "ClusterRoleBinding")], [])
        bindings = {thing["metadata"]["name"]: thing["metadata"]["namespace"] for thing in of_kind(objects, "RoleBinding")}
        self.assertEqual(bindings["paceline-operator:paceline-system"], "research")
        self.assertIn("--namespace=research", of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"])

    def test_a_second_replica_brings_a_disruption_budget(self):
        self.assertEqual(of_kind(things([]), "PodDisruptionBudget"), [])
        self.assertEqual(len(of_kind(things(["operator.replicas=2"])), "PodDisruptionBudget"), 1)

    def test_images_by_registry_tag_and_digest(self):
        digest = "sha256:" + 64 * "0"
        objects = things(["image.registry=r.example.com/t", "image.ps.tag=v9", f"image.operator.digest={digest}"])
        container = of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], f"r.example.com/t/paceline/operator@{digest}")
        self.assertIn("--ps-image=r.example.com/t/paceline/ps:v9", container["args"])

    def test_the_crd_stays_when_the_release_goes(self):
        keep = of_kind(things([]), "CustomResourceDefinition")[0]["metadata"]["annotations"]
        self.assertEqual(keep["helm.sh/resource-policy"], "keep")
        self.assertEqual(of_kind(things(["crds.install=false"]), "CustomResourceDefinition"), [])

    def test_an_api_server_accepts_it(self):
        for kind, plural in FOREIGN.items():
            kubectl("apply", "-f", "-", text=yaml.safe_dump(foreign_crd(kind, plural)))
        for plural in FOREIGN.values():
            kubectl("wait", "--for=condition=Established", f"crd/{plural}.monitoring.coreos.com", "--timeout=60s")
        for namespace in ("paceline-system", "research"):
            kubectl("create", "namespace", namespace)
        for name, settings in SETTINGS.items():
            with self.subTest(settings=name):
                kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", text=render(settings))

    def test_notes_name_what_to_do_next(self):
        kubectl("create", "namespace", "notes")
        notes = must(HELM, "install", "paceline", CHART, "--namespace", "notes", "--dry-run=client")
        self.assertIn("kubectl -n notes rollout status deployment/paceline-operator", notes)


if __name__ == "__main__":
    main()
