"""What users get wrong: the status says what and where."""
import install
import nodes
from job import digits, paced


def container(name, **fields):
    return {"template": {"spec": {"containers": [{"name": name, **fields}]}}}


def test_image_that_cannot_be_pulled(start_job):
    job = start_job(digits(workers=container("worker", image="registry.invalid/nothing:1")))
    job.wait_for_message("ResourcesReady", ["digits-worker-", "registry.invalid/nothing:1"], 120, "False")


def test_no_node_has_room(start_job):
    job = start_job(digits(workers=container("worker", resources={"requests": {"cpu": "1000"}})))
    job.wait_for_message("ResourcesReady", ["digits-worker-", "Insufficient cpu"], 60, "False")


def test_out_of_memory_names_the_worker(start_job):
    job = start_job(digits(workers={"replicas": 1, **container("worker", resources={"limits": {"memory": "40Mi"}})},
                           runPolicy={"backoffLimit": 1}))
    message = job.wait_for("Failed", 180)["message"]
    # A kubelet that missed the kernel's word says Error and 137.
    assert "digits-worker-0" in message, message
    assert "used more memory than its limit" in message or "beyond its memory limit of 40Mi" in message, message


def test_wrong_arguments_fail_at_once(start_job):
    job = start_job(digits(workers=container("worker", args=["--no-such-flag"])))
    message = job.wait_for("Failed", 120)["message"]
    assert "digits-worker-" in message


def test_crash_loop_ends_with_backoff_limit(start_job):
    job = start_job(digits(workers=container("worker", command=["/bin/sh", "-c", "echo the disk is on fire >&2; exit 1"]),
                           runPolicy={"backoffLimit": 2}))
    failed = job.wait_for("Failed", 180)
    assert failed["reason"] == "BackoffLimitExceeded"
    assert "the disk is on fire" in failed["message"]


def test_missing_data_file_is_named(start_job):
    job = start_job(digits(data={"train": "digits/no-such-file.safetensors"}))
    assert "digits/no-such-file.safetensors" in job.wait_for("Failed", 120)["message"]


def test_wrong_shape_is_named(start_job):
    job = start_job(digits(model={"torchScript": None, "builtIn": "Mlp", "inputShape": [3, 5, 5], "classes": 10}))
    message = job.wait_for("Failed", 180)["message"]
    assert "8" in message and "5" in message, message


def test_missing_claim_is_named(start_job):
    job = start_job(digits(output={"volume": {"persistentVolumeClaim": {"claimName": "nobody-made-me"}}}))
    job.wait_for_message("ResourcesReady", ["nobody-made-me"], 60, "False")


def test_quota_is_told(start_job, namespace):
    namespace.kubectl("create", "quota", "few", "--hard=pods=3")
    job = start_job(digits())
    job.wait_for_message("ResourcesReady", ["exceeded quota"], 60, "False")
    namespace.kubectl("delete", "quota", "few")
    job.wait_for("Succeeded", 300)


def test_gpus_are_asked_for_and_not_done_without(start_job):
    """The node says it has GPUs: where pods go is real, what they find there is not."""
    nodes.need_kind()
    node = nodes.workers()[0]
    nodes.give_gpus(node, 16)
    asking = container("worker", resources={"limits": {"nvidia.com/gpu": 1}})
    job = start_job(digits(workers={"device": "CPU", **asking}))
    job.wait_for("Running", 120)
    assert {pod["spec"]["nodeName"] for pod in job.pods("worker").values()} == {node}
    job.wait_for("Succeeded", 300)
    assert {worker["device"] for worker in job.status()["workers"]} == {"CPU"}

    # By itself it gets the image for GPUs, which nobody has put on these nodes.
    chosen = start_job(digits(name="gets-cuda", workers=asking))
    chosen.wait_for_message("ResourcesReady", ["gets-cuda-worker-", "paceline/worker-cuda:"], 120, "False")

    asking = container("worker", image=install.image("worker"), resources={"limits": {"nvidia.com/gpu": 1}})
    missing = start_job(digits(name="wants-cuda", workers=asking, runPolicy={"backoffLimit": 0}))
    failed = missing.wait_for("Failed", 120)
    assert failed["reason"] == "CannotWorkHere"
    assert "device cuda: LibTorch has no CUDA half here" in failed["message"]


def test_a_device_by_claim_is_tried_and_said(start_job, namespace):
    """The claims are real, and their devices none that CUDA can use."""
    nodes.need_kind()
    node = nodes.workers()[0]
    with nodes.claimable_devices(node, 16) as device_class:
        namespace.apply({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": "one-device"},
                         "spec": {"spec": {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": device_class}}]}}}})
        claiming = container("worker", image=install.image("worker"), resources={"claims": [{"name": "gpu"}]})
        claiming["template"]["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimTemplateName": "one-device"}]
        job = start_job(paced(8, workers=claiming))
        job.wait_for_message("Degraded", ["spec.workers.template has resource claim gpu", "computed on the CPU by digits-worker-0"], 180, "True")
        assert job.condition("Degraded")["reason"] == "DeviceUnused"
        assert {pod["spec"]["nodeName"] for pod in job.pods("worker").values()} == {node}
        assert "has resource claim gpu: computed on it if it is a GPU" in job.condition("Created")["message"]
        job.wait_for("Succeeded", 300)

        # What is said by name is used or missing, by claim too.
        missing = start_job(digits(name="wants-cuda", workers={"device": "CUDA", **claiming}, runPolicy={"backoffLimit": 0}))
        failed = missing.wait_for("Failed", 120)
        assert failed["reason"] == "CannotWorkHere"


def test_full_checkpoint_volume_is_told_and_training_goes_on(start_job):
    full = {"emptyDir": {"medium": "Memory", "sizeLimit": "64Ki"}}  # The kernel keeps such a limit, to the page.
    job = start_job(paced(15, parameterServer={"shards": 1}, checkpoint={"periodSeconds": 1, "volume": full}))
    job.wait_for_message("Degraded", ["no checkpoint can be written", "No space left"], 120, "True")
    step = job.status()["progress"]["step"]
    job.wait_for_step(step + 1)
    job.wait_for("Succeeded", 300)
