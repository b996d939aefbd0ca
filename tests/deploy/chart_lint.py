#!/usr/bin/env python3
"""What kubeconform and kube-score have against the chart, rendered with each value set of chart.py, and against the plain manifests.
kubeconform finds nothing. What kube-score finds stands, with the answer, in kube_score.yaml, and nothing else does.

    chart_lint.py     prints what is wrong; exit 1 if anything is, 77 where a tool is missing
"""
import json
import shutil
import sys
import tempfile

import schemas
from chart import SETTINGS, render
from tools import ROOT, documents, load, need, run

FOREIGN = "ServiceMonitor,PodMonitor,PrometheusRule"  # Kinds of the Prometheus operator, of which the API server knows nothing.
FOLDERS = ("deploy", "deploy/rbac", "deploy/rbac-namespaced", "deploy/policies")


def texts():
    """What is looked at, by its name."""
    found = {f"chart, {name}": render(settings) for name, settings in SETTINGS.items()}
    return found | {str(file.relative_to(ROOT)): file.read_text() for folder in FOLDERS for file in sorted((ROOT / folder).glob("*.yaml"))}


def conform(program, go, texts):
    description = schemas.openapi(go)
    if description is None:
        print("left out: kubeconform, since the module k8s.io/kubernetes is not here (tests/cluster/cluster build api)", file=sys.stderr)
        return []
    kinds = {(thing["apiVersion"], thing["kind"]) for text in texts.values() for thing in documents(text)}
    with tempfile.TemporaryDirectory(prefix="schemas.") as folder:
        pattern = schemas.write(description, kinds, folder)
        wrong = []
        for name, text in texts.items():
            code, out, errors = run(program, "-strict", "-schema-location", pattern, "-skip", FOREIGN, "-", text=text)
            if code != 0:
                wrong.append(f"{name}: {out}{errors}".strip())
        return wrong


def findings(program, text):
    """{(check, kind/name)} that kube-score grades below ok."""
    _, out, errors = run(program, "score", "--output-format", "json", "-", text=text)
    try:
        scored = json.loads(out) or []  # null where nothing is of a kind that it knows.
    except json.JSONDecodeError:
        raise SystemExit(f"kube-score ended without an answer: {out}{errors}")
    return {(check["check"]["id"], f"{one['type_meta']['kind']}/{one['object_meta']['name']}")
            for one in scored for check in one["checks"] or [] if not check["skipped"] and check["grade"] < 10}


def unanswered(program, texts, answers):
    wrong, used = [], set()
    for name, text in texts.items():
        for check, what in sorted(findings(program, text)):
            used.add(check)
            if what.split("/")[0] not in answers.get(check, {}).get("kinds", []):
                wrong.append(f"{name}: kube-score, {check}: {what}, which tests/deploy/kube_score.yaml does not answer")
    return wrong + [f"tests/deploy/kube_score.yaml answers {check}, which nothing asks" for check in sorted(answers.keys() - used)]


def main():
    kubeconform, kube_score = (need(name, f"tests/cluster/cluster build {name}") for name in ("kubeconform", "kube-score"))
    go = shutil.which("go") or "/usr/local/go/bin/go"
    looked_at = texts()
    wrong = conform(kubeconform, go, looked_at) + unanswered(kube_score, looked_at, load("tests/deploy/kube_score.yaml")[0])
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
