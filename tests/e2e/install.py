"""Paceline on the cluster, as the README says, run as its own ServiceAccount."""
import re
import subprocess

from job import ROOT
from kubectl import kubectl, run

FLAGS = ["-f", "deploy/crd", "-f", "deploy/rbac", "-f", "deploy/operator.yaml"]
NAMESPACE = "paceline-system"
TOOL = str(ROOT / "tests/cluster/cluster")


def image(name):
    """What this build calls it."""
    return run(str(ROOT / "tools/images"), "names", name).strip()


def manifests():
    """What is applied: the repository's, with the images of this build."""
    names = dict(zip(("operator", "ps", "worker"), run(str(ROOT / "tools/images"), "names").split()))
    text = run("kubectl", "create", "--dry-run=client", "-o", "yaml", "-f", str(ROOT / "deploy/operator.yaml"))
    for image, name in names.items():
        text = re.sub(rf"paceline/{image}:[\w.-]+", name, text)
    return text


def install(deadline_seconds=120):
    kubectl("apply", "--server-side", "-f", str(ROOT / "deploy/crd"), "-f", str(ROOT / "deploy/rbac"))
    kubectl("wait", "--for=condition=Established", "crd/trainingjobs.paceline.dev", "--timeout=60s")
    kubectl("apply", "--server-side", "-f", "-", text=manifests())
    kubectl("-n", NAMESPACE, "rollout", "status", "deployment/paceline-operator", f"--timeout={deadline_seconds}s",
            deadline_seconds=deadline_seconds + 10)


def uninstall():
    for what in (["trainingjobs", "--all", "--all-namespaces"], *[["-f", str(ROOT / folder)] for folder in
                 ("deploy/operator.yaml", "deploy/rbac", "deploy/crd")]):
        subprocess.run(["kubectl", "delete", "--ignore-not-found", "--wait=true", "--timeout=60s", *what], check=False,
                       capture_output=True)


def install_with_helm(deadline_seconds=120):
    """The chart instead of the manifests; `helm` comes from the tools of tests/cluster."""
    run(TOOL, "build", "helm", deadline_seconds=600)
    tag = run(str(ROOT / "tools/images"), "names", "operator").strip().rsplit(":", 1)[1]
    images = [f"--set=image.{image}.tag={tag}" for image in ("operator", "ps", "worker")]
    run("helm", "install", "paceline", str(ROOT / "charts/paceline"), "--namespace", NAMESPACE, "--create-namespace", "--wait",
        f"--timeout={deadline_seconds}s", "--set=crds.keep=false", *images, deadline_seconds=deadline_seconds + 10)


def uninstall_with_helm():
    kubectl("delete", "trainingjobs", "--all", "--all-namespaces", "--timeout=60s")
    run("helm", "uninstall", "paceline", "--namespace", NAMESPACE, "--wait")
