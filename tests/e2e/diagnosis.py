"""What is worth reading when a test has failed: into a folder, and the part that mostly tells into the report."""
from pathlib import Path

from kubectl import kubectl

LINES_SHOWN = 40


def dump(namespace, folder):
    """Writes what there is to know about a namespace and the operator; returns a summary."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    summary = []
    for file, arguments in {
        "overview.txt": ["get", "trainingjobs,pods,services,persistentvolumeclaims", "-o", "wide"],
        "jobs.yaml": ["get", "trainingjobs", "-o", "yaml"],
        "describe.txt": ["describe", "trainingjobs,pods"],
        "events.txt": ["get", "events", "--sort-by=.metadata.creationTimestamp"],
    }.items():
        text = namespace.kubectl(*arguments, check=False)
        (folder / file).write_text(text)
        if file in ("overview.txt", "events.txt"):
            summary += [f"--- {file}", *text.splitlines()[-LINES_SHOWN:]]
    for pod in namespace.kubectl("get", "pods", "-o", "name", check=False).split():
        text = namespace.logs(pod, "--all-containers", "--timestamps")
        (folder / f"{pod.removeprefix('pod/')}.log").write_text(text)
    nodes = kubectl("get", "nodes", "-o", "wide", check=False)
    (folder / "nodes.txt").write_text(nodes)
    log = kubectl("-n", "paceline-system", "logs", "-l", "app.kubernetes.io/component=operator", "--tail=-1", "--prefix", check=False)
    (folder / "operator.log").write_text(log)
    summary += ["--- nodes", *nodes.splitlines(), "--- the operator's last words", *log.splitlines()[-LINES_SHOWN:]]
    return "\n".join([*summary, f"--- all of it: {folder}"])
