"""What the CLI shows and changes of a job, as a user with a kubeconfig."""
import re
import subprocess

from job import ENDLESS, ROOT, digits, paced
from kubectl import wait_until

PACELINE = ROOT / "build/release/bin/paceline"


def paceline(*arguments):
    """The ended process."""
    return subprocess.run([PACELINE, *arguments], capture_output=True, text=True, timeout=60, check=False)


def top(job):
    return paceline("top", job.name, "-n", job.namespace.name, "--once")


def test_top_and_ctl_of_a_running_job(start_job):
    job = start_job(paced(ENDLESS))
    job.wait_for_step(20)

    shown = top(job)
    assert shown.returncode == 0, shown.stderr
    head, progress, columns, *workers = shown.stdout.splitlines()
    assert head == f"{job.namespace.name}/digits: Running"
    assert int(re.search(r"step ([\d,]+)", progress).group(1).replace(",", "")) >= 20
    assert progress.endswith("BSP") and columns.split()[:2] == ["WORKER", "STATE"]
    assert [line.split()[1] for line in workers] == ["working"] * 4

    changed = paceline("ctl", "set", "digits", "-n", job.namespace.name, "sync.scheme=SSP", "sync.ssp.staleness=2")
    assert changed.returncode == 0, changed.stderr
    job.wait_for_scheme("SSP", 60)
    wait_until("top shows SSP", lambda: top(job).stdout.splitlines()[1].endswith("SSP"), 60, job.describe)

    refused = paceline("ctl", "set", "digits", "-n", job.namespace.name, "training.seed=7")
    assert refused.returncode == 2
    assert "spec.training" in refused.stderr


def test_top_of_a_job_that_waits_and_of_one_that_is_over(start_job):
    waiting = start_job(digits("waiting", workers={"template": {"spec": {"nodeSelector": {"no-such": "node"}}}},
                               parameterServer={"template": {"spec": {"nodeSelector": {"no-such": "node"}}}}))
    waiting.wait_for_message("ResourcesReady", ["waiting-ps-0"], 60)
    shown = top(waiting)
    assert shown.returncode == 1
    assert "waiting-ps-0" in shown.stdout
    assert "its coordinator does not answer" in shown.stderr

    over = start_job(digits("over"))
    over.wait_for("Succeeded", 300)
    shown = top(over)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith(f"{over.namespace.name}/over: Succeeded\n100 %")
    assert "TrainingSucceeded" in shown.stdout

    missing = paceline("top", "nobody", "-n", over.namespace.name)
    assert missing.returncode == 2
    assert "no TrainingJob nobody in namespace" in missing.stderr
