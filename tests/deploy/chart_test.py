#!/usr/bin/env python3
"""The Helm chart: it lints, its copies are true copies, and a real API server accepts what it renders."""
import difflib
import json
import os
import unittest

import yaml

from chart import CHART, HELM, SETTINGS, flags, key, of_kind, render, things
from rights import at_home, granted, where_jobs_are
from tools import ROOT, documents, kubectl, load, main, must, run

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


# What stands in tests/golden/chart.
GOLDEN = ("defaults", "everything", "one namespace", "namespace's admin", "openshift", "closed network")
REWRITE = os.environ.get("PACELINE_REWRITE") == "1"


def pictured(objects):
    """As text, without what is a copy of a file under deploy/."""
    for thing in objects:
        if thing["kind"] in ("CustomResourceDefinition", "PrometheusRule"):
            thing["spec"] = "..."
        elif "-dashboard-" in thing["metadata"]["name"]:
            thing["data"] = {file: "..." for file in thing["data"]}
    return yaml.safe_dump_all(objects, sort_keys=False, width=120)


def golden(name, text):
    file = ROOT / "tests/golden/chart" / name.replace("'", "")
    if REWRITE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text, "".join(difflib.unified_diff(
        file.read_text().splitlines(True), text.splitlines(True), str(file), "rendered")) + "\nPACELINE_REWRITE=1 writes it anew"


class ChartTest(unittest.TestCase):
    def test_lints(self):
        for name, settings in SETTINGS.items():
            with self.subTest(settings=name):
                must(HELM, "lint", "--strict", CHART, *flags(settings))

    def test_what_is_rendered_is_what_was_read(self):
        for name in GOLDEN:
            with self.subTest(settings=name):
                golden(f"{name.replace(' ', '-')}.yaml", pictured(things(SETTINGS[name])))

    def test_the_readme_is_made_of_the_values(self):
        if REWRITE:
            must(str(ROOT / "tools/chart_readme.py"))
        must(str(ROOT / "tools/chart_readme.py"), "--check")

    def test_schema_and_values_know_the_same_names(self):
        schema = json.loads((ROOT / CHART / "values.schema.json").read_text())

        def in_schema(node, path=""):
            node = schema["definitions"][node["$ref"].rpartition("/")[2]] if "$ref" in node else node
            for name, inner in node.get("properties", {}).items():
                yield f"{path}{name}"
                yield from in_schema(inner, f"{path}{name}.")

        def in_values(node, path=""):
            for name, inner in node.items() if isinstance(node, dict) else ():
                yield f"{path}{name}"
                yield from in_values(inner, f"{path}{name}.")

        known, found = set(in_schema(schema)), set(in_values(load(f"{CHART}/values.yaml")[0]))
        known = {name for name in known if not name.startswith("jobs.podDefaults.")}  # Empty until somebody has defaults.
        self.assertEqual(known - found, {"global"})  # Helm's own.
        free = ("operator.resources.", "operator.podSecurityContext.", "operator.securityContext.")  # Kubernetes' own fields.
        self.assertEqual([name for name in sorted(found - known) if not name.startswith(free)], [])

    def test_what_is_null_is_left_out(self):
        def pod(settings):
            [deployment] = of_kind(things(settings), "Deployment")
            return deployment["spec"]["template"]["spec"]
        self.assertEqual(pod(SETTINGS["openshift"])["securityContext"], {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
        self.assertNotIn("securityContext", pod(SETTINGS["other names"]))
        self.assertNotIn("securityContext", pod(SETTINGS["other names"])["containers"][0])

    def test_extra_objects_may_be_text_with_templates(self):
        values = yaml.safe_dump({"extraObjects": [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one-{{ .Release.Name }}"}},
            'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "paceline.operator" . }}-two\n']})
        out = must(HELM, "template", "r", CHART, "--set=crds.install=false", "--values", "-", text=values)
        self.assertEqual([thing["metadata"]["name"] for thing in of_kind(documents(out), "ConfigMap")], ["one-r", "r-paceline-operator-two"])

    def test_common_labels_are_on_all_objects_and_on_pods(self):
        labels = {"cost-center": "research", "app.kubernetes.io/part-of": "platform"}
        objects = things([f"commonLabels.{name.replace('.', chr(92) + '.')}={value}" for name, value in labels.items()] +
                         ["operator.podLabels.cost-center=other", "operator.namespace=research", "operator.replicas=2",
                          "security.networkPolicy.extraPorts[0].port=15008", "dashboards.enabled=true", "metrics.rules.enabled=true"])
        for thing in objects:
            if thing["kind"] == "Pod":  # The one of `helm test`, which has the pods' labels.
                continue
            self.assertLessEqual(labels.items(), thing["metadata"]["labels"].items(), key(thing))
        [deployment] = of_kind(objects, "Deployment")
        self.assertEqual(deployment["spec"]["template"]["metadata"]["labels"]["cost-center"], "other")

    def test_what_cannot_be_meant_is_refused_in_words(self):
        cases = {
            "serviceAccount.create=false": "set serviceAccount.name to an account",
            "networkPolicy.enabled=false,security.networkPolicy.mode=IngressAndEgress": "set networkPolicy.enabled=true",
            "security.networkPolicy.egress[0].ports[0].port=443": "set security.networkPolicy.mode=IngressAndEgress",
            "commonLabels.app\\.kubernetes\\.io/instance=mine": "leave app.kubernetes.io/instance out of commonLabels",
            "operator.podLabels.app\\.kubernetes\\.io/component=mine": "leave app.kubernetes.io/component out of operator.podLabels",
            "fullnameOverride=Not_A_Name": "fullnameOverride",
            "security.networkPolicy.mode=Egress": "mode",
        }
        for values, words in cases.items():
            with self.subTest(values):
                code, _, errors = run(HELM, "template", CHART, "--set", values)
                self.assertNotEqual(code, 0)
                self.assertIn(words, errors)

    def test_an_unknown_value_is_refused_by_its_name(self):
        for value in ("jobs.podDefaults.all.pool=gpu", "operator.replica=2", "operator.threads=0", "image.operator.digest=sha256:12", "crds.keep=maybe"):
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
        more = {"upgraded": {"seeds": ["former-seed"]}, "other names": {"installation": "pl-operator"}}
        for name, settings in SETTINGS.items():
            with self.subTest(settings=name):
                where = "research" if "operator.namespace=research" in settings else ""
                account = "builder" if "serviceAccount.name=builder" in settings else "paceline-operator"
                self.assertEqual(granted(things(settings), "paceline-system", account=account),
                                 {where: where_jobs_are(), "paceline-system": at_home(**more.get(name, {}))})

    def test_the_container_is_that_of_the_plain_manifests(self):
        plain = load("deploy/operator.yaml")[0]["spec"]["template"]["spec"]
        ours = of_kind(things([]), "Deployment")[0]["spec"]["template"]["spec"]
        extra = {"--gang-scheduler=none", "--threads=4", "--installation=paceline-operator"}  # Said in the chart, the program's defaults in the other.
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
        self.assertEqual(len(of_kind(things(["operator.replicas=2"]), "PodDisruptionBudget")), 1)

    def test_images_by_registry_tag_and_digest(self):
        digest = "sha256:" + 64 * "0"
        objects = things(["image.registry=r.example.com/t", "image.ps.tag=v9", f"image.operator.digest={digest}"])
        container = of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]
        self.assertEqual(container["image"], f"r.example.com/t/paceline/operator@{digest}")
        self.assertIn("--ps-image=r.example.com/t/paceline/ps:v9", container["args"])

    def test_the_operator_reads_the_defaults_of_jobs_and_starts_anew_where_they_change(self):
        def deployed(*settings):
            objects = documents(render(settings))
            pod = of_kind(objects, "Deployment")[0]["spec"]["template"]
            return [m for m in of_kind(objects, "ConfigMap") if m["metadata"]["name"].endswith("-pod-defaults")], pod

        maps, pod = deployed()
        self.assertEqual(maps, [])
        self.assertNotIn("annotations", pod["metadata"])
        null = "jobs.podDefaults.all.securityContext.runAsUser=null"
        [config], pod = deployed(null, "operator.podAnnotations.mine=yes")
        self.assertEqual(yaml.safe_load(config["data"]["pod-defaults.yaml"]), {"all": {"securityContext": {"runAsUser": None}}})
        self.assertIn("mine", pod["metadata"]["annotations"])
        [file] = [a.split("=", 1)[1] for a in pod["spec"]["containers"][0]["args"] if a.startswith("--pod-defaults=")]
        [mount] = [m for m in pod["spec"]["containers"][0]["volumeMounts"] if m["name"] == "pod-defaults"]
        self.assertEqual(file, mount["mountPath"] + "/pod-defaults.yaml")
        self.assertIn({"name": "pod-defaults", "configMap": {"name": config["metadata"]["name"]}}, pod["spec"]["volumes"])
        sums = {deployed(*more)[1]["metadata"]["annotations"]["checksum/pod-defaults"]
                for more in ([null], [null], [null, "jobs.podDefaults.evaluator.runtimeClassName=kata"])}
        self.assertEqual(len(sums), 2)

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
