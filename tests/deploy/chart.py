"""The chart as tests render it, and the value sets that they render it with."""
import functools
import tarfile
from pathlib import Path

from tools import ROOT, documents, must, need

HELM = need("helm", "tests/cluster/cluster build helm")
CHART = "charts/paceline"

# What the chart is rendered with; every template is in at least one of them.
SETTINGS = {
    "defaults": [],
    "everything": ["operator.replicas=2", "metrics.serviceMonitor.enabled=true", "metrics.podMonitor.enabled=true",
                   "metrics.rules.enabled=true", "metrics.rules.labels.release=prometheus", "dashboards.enabled=true",
                   "dashboards.annotations.grafana_folder=Training", "image.registry=registry.example.com/team",
                   "image.pullSecrets[0].name=registry", "operator.priorityClassName=system-cluster-critical",
                   "operator.gangScheduler=volcano", "operator.extraArgs[0]=--log-format=text",
                   "operator.nodeSelector.pool=system", "operator.tolerations[0].operator=Exists",
                   "commonLabels.cost-center=research", "operator.podLabels.team=platform", "operator.podAnnotations.note=ours",
                   "extraObjects[0].apiVersion=v1", "extraObjects[0].kind=ConfigMap", "extraObjects[0].metadata.name=extra",
                   "extraObjects[0].metadata.namespace=paceline-system",
                   "jobs.podDefaults.workers.nodeSelector.pool=gpu", "jobs.podDefaults.all.imagePullSecrets[0].name=registry"],
    "one namespace": ["operator.namespace=research", "metrics.podMonitor.enabled=true"],
    "namespace's admin": ["operator.namespace=research", "crds.install=false", "rbac.clusterScoped=false"],
    "openshift": ["operator.podSecurityContext.runAsUser=null", "operator.podSecurityContext.runAsGroup=null",
                  "jobs.podDefaults.all.securityContext.runAsUser=null", "jobs.podDefaults.all.securityContext.runAsGroup=null",
                  "jobs.podDefaults.all.securityContext.fsGroup=null"],
    "closed network": ["operator.namespace=research", "security.networkPolicy.mode=IngressAndEgress",
                       "security.networkPolicy.from[0].namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name=monitoring",
                       "security.networkPolicy.extraPorts[0].port=15008", "security.networkPolicy.extraPorts[0].protocol=TCP",
                       "security.networkPolicy.egress[0].to[0].ipBlock.cidr=10.0.0.0/8"],
    "other names": ["fullnameOverride=pl", "nameOverride=training", "serviceAccount.create=false", "serviceAccount.name=builder", "test.enabled=false",
                    "operator.podSecurityContext=null", "operator.securityContext=null"],
    "upgraded": ["operator.adopt.installations[0]=former", "operator.adopt.seedSecrets[0]=former-seed", "operator.replicas=2"],
    "nothing more": ["crds.install=false", "networkPolicy.enabled=false", "rbac.aggregate=false", "rbac.users.create=false"],
}


def flags(settings):
    return [word for setting in settings for word in ("--set", setting)]


@functools.cache
def rendered(settings, release, namespace, chart):
    return must(HELM, "template", release, str(chart), "--namespace", namespace, *flags(settings))


def render(settings, release="paceline", namespace="paceline-system", chart=CHART):
    return rendered(tuple(settings), release, namespace, chart)


def things(settings, **where):
    return documents(render(settings, **where))


def of_kind(things, kind):
    return [thing for thing in things if thing["kind"] == kind]


def key(thing):
    """What no two objects of a cluster may share. Of those that belong to a namespace the chart says which."""
    return thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]


def former_chart(folder):
    """Unpacks the chart of before its names carried the release and its namespace (docs/adr/0090), as `git archive` gave it."""
    with tarfile.open(ROOT / "tests/deploy/former_chart.tar.gz") as files:
        files.extractall(folder)
    return Path(folder) / CHART
