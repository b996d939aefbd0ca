"""The machines of a kind cluster: stopping, pausing and cutting them off, and the folder that they share."""
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from kubectl import kubectl, run, wait_until

CLUSTER = os.environ.get("PACELINE_CLUSTER", "")
SHARED = os.environ.get("PACELINE_CLUSTER_SHARED", "")
TOOL = str(Path(__file__).resolve().parents[1] / "cluster/cluster")


def need_kind():
    """Skips where the cluster is not ours to break."""
    if not CLUSTER or not SHARED:
        pytest.skip("the cluster was given, and is not one whose nodes this test may stop")


def names():
    return kubectl("get", "nodes", "-o", "jsonpath={.items[*].metadata.name}").split()


def workers():
    """The nodes without the control plane."""
    return kubectl("get", "nodes", "-l", "!node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[*].metadata.name}").split()


def is_ready(node):
    path = '{.status.conditions[?(@.type=="Ready")].status}'
    return kubectl("get", "node", node, "-o", f"jsonpath={path}") == "True"


def stop(node):
    """As if the power had failed."""
    run("docker", "kill", node)


def start(node, deadline_seconds=120):
    run("docker", "start", node)
    wait_until(f"{node} is Ready again", lambda: is_ready(node), deadline_seconds)
    run(TOOL, "routes")


def pause(node):
    """As if it had frozen: connections stay open, nothing answers."""
    run("docker", "pause", node)


def unpause(node, deadline_seconds=120):
    run("docker", "unpause", node)
    wait_until(f"{node} is Ready again", lambda: is_ready(node), deadline_seconds)


def kill_api_server():
    """kill -9; its kubelet starts it again."""
    node = kubectl("get", "nodes", "-l", "node-role.kubernetes.io/control-plane", "-o", "jsonpath={.items[0].metadata.name}")
    run("docker", "exec", node, "pkill", "-9", "-x", "kube-apiserver")


def kill_process(pod, pattern):
    """kill -9 of the pod's process whose command line matches, as its node would do it."""
    node = pod["spec"]["nodeName"]
    run("docker", "exec", node, "pkill", "-9", "-f", pattern)


def give_gpus(node, count):
    """The resource nvidia.com/gpu, as a device plugin would announce it."""
    kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
            f'{{"status": {{"capacity": {{"nvidia.com/gpu": "{count}"}}, "allocatable": {{"nvidia.com/gpu": "{count}"}}}}}}')


@contextmanager
def claimable_devices(node, count):
    """Devices that pods have by a ResourceClaim, from the driver that Kubernetes tests itself with; gives the name of their class."""
    driver, name = "devices.paceline.dev", "paceline-test-device"
    program = "/usr/local/bin/dra-test-driver"
    run("docker", "cp", shutil.which("dra-test-driver"), f"{node}:{program}")
    kubectl("apply", "-f", "-", text=_yaml([
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
         "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{driver}"'}}]}}]))
    run("docker", "exec", node, "mkdir", "-p", f"/var/lib/kubelet/plugins/{driver}")  # For its socket.
    # A kubelet may publish what its own node has.
    run("docker", "exec", "--detach", "--env", "KUBECONFIG=/etc/kubernetes/kubelet.conf", node, program, f"--drivername={driver}",
        "kubelet-plugin", f"--node-name={node}", f"--num-devices={count}")
    try:
        wait_until(f"{node} has devices to claim", lambda: node in kubectl("get", "resourceslices", "-o", "jsonpath={.items[*].spec.nodeName}"), 60)
        yield name
    finally:
        run("docker", "exec", node, "pkill", "-f", program, check=False)
        kubectl("delete", "deviceclass", name, "--ignore-not-found", "--wait=false")


class SharedClaim:
    """A ReadWriteMany claim in a namespace; `folder` is what this machine sees of it."""

    def __init__(self, namespace, name):
        need_kind()
        self.namespace, self.name = namespace, name
        self.volume = f"{namespace.name}-{name}"
        self.folder = Path(SHARED) / self.volume
        self.folder.mkdir(mode=0o777)
        self.folder.chmod(0o777)  # mkdir minds the umask. A node's folder does not follow a pod's fsGroup.
        size = {"storage": "1Gi"}
        kubectl("apply", "-f", "-", text=_yaml([
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": self.volume},
             "spec": {"capacity": size, "accessModes": ["ReadWriteMany"], "storageClassName": "shared",
                      "persistentVolumeReclaimPolicy": "Retain", "hostPath": {"path": f"/shared/{self.volume}", "type": "Directory"},
                      "claimRef": {"namespace": namespace.name, "name": name}}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": namespace.name},
             "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "shared", "volumeName": self.volume,
                      "resources": {"requests": size}}}]))

    def source(self):
        """As a TrainingJob names it."""
        return {"persistentVolumeClaim": {"claimName": self.name}}

    def remove(self):
        kubectl("delete", "persistentvolume", self.volume, "--ignore-not-found", "--wait=false")


def _yaml(objects):
    import yaml
    return yaml.safe_dump_all(objects)
