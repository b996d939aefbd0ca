"""kubectl, as far as the suite needs it, and waiting with a deadline."""
import json
import os
import subprocess

import yaml

from eventually import eventually


class CommandFailed(AssertionError):
    pass


def run(*command, text=None, deadline_seconds=120, check=True):
    """stdout of the command. CommandFailed, with all it printed, if it exits with another code than 0 or is not over in time
    (unless check=False: then what it printed until then)."""
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=deadline_seconds, check=False)
    except subprocess.TimeoutExpired as trouble:
        printed = (trouble.stdout or b"").decode(errors="replace")
        if check:
            raise CommandFailed(f"{' '.join(command)} was not over within {deadline_seconds} s:\n{printed}") from trouble
        return f"{printed}\n(not over within {deadline_seconds} s)"
    if check and done.returncode != 0:
        raise CommandFailed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def kubectl(*arguments, **options):
    return run("kubectl", *arguments, **options)


def attempt(*arguments, text=None, deadline_seconds=120, **environment):
    """kubectl, however it ends: what it printed, all of it, and its exit code."""
    done = subprocess.run(["kubectl", *arguments], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=deadline_seconds, env={**os.environ, **environment}, check=False)
    return done.stdout, done.returncode


def as_text(what):
    """YAML of an object, of a list of them, or text as it is."""
    if isinstance(what, str):
        return what
    return yaml.safe_dump_all(what if isinstance(what, list) else [what])


def wait_until(what, is_so, deadline_seconds, diagnose=lambda: "", every_seconds=1, position=None):
    """Returns what `is_so()` returned as soon as that is true. AssertionError that says what was waited for, and what
    `diagnose()` says then, if it is not within the deadline, which begins anew whenever `position()` changes. A kubectl that fails
    is a "not yet"."""
    last_trouble = ""

    def look():
        nonlocal last_trouble
        try:
            return is_so()
        except CommandFailed as trouble:
            last_trouble = f"\nthe last attempt: {trouble}"
            return None
    found = eventually(look, deadline_seconds, every_seconds, position)
    if not found:
        since = f", nor anything since {position()}" if position else ""
        raise AssertionError(f"{what}: not within {deadline_seconds} s{since}{last_trouble}\n{diagnose()}")
    return found


def when_it_happened(event):
    return event.get("eventTime") or event["metadata"]["creationTimestamp"]


class Namespace:
    """One namespace; every method is about it."""

    def __init__(self, name):
        self.name = name

    def kubectl(self, *arguments, **options):
        return kubectl("-n", self.name, *arguments, **options)

    def attempt(self, *arguments, **options):
        return attempt("-n", self.name, *arguments, **options)

    def apply(self, what):
        return self.kubectl("apply", "-f", "-", text=as_text(what))

    def refuses(self, what):
        """Why the API server refuses it. AssertionError if it does not."""
        done = subprocess.run(["kubectl", "-n", self.name, "apply", "-f", "-"], input=as_text(what), capture_output=True, text=True)
        assert done.returncode != 0, f"was accepted:\n{as_text(what)}"
        return done.stderr

    def get(self, kind, name):
        """The object; None if there is none."""
        text = self.kubectl("get", kind, name, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def list(self, kind, selector=""):
        return json.loads(self.kubectl("get", kind, "-l", selector, "-o", "json"))["items"]

    def patch(self, kind, name, changes, subresource=None):
        flags = [f"--subresource={subresource}"] if subresource else []
        return self.kubectl("patch", kind, name, "--type=merge", "-p", json.dumps(changes), *flags)

    def delete(self, kind, name, *flags):
        return self.kubectl("delete", kind, name, "--ignore-not-found", *flags)

    def events(self, name):
        """(reason, message) of the events about an object of that name, oldest first."""
        events = json.loads(self.kubectl("get", "events.events.k8s.io", "-o", "json"))["items"]
        about = [event for event in events if event["regarding"].get("name") == name]
        about.sort(key=when_it_happened)
        return [(event["reason"], event.get("note", "")) for event in about]

    def logs(self, pod, *flags):
        return self.kubectl("logs", pod, *flags, check=False)
