"""Runs scripts in processes that have imported PyTorch already: it costs each of a job's processes over a second of processor.

    nursery.py SOCKET SCRIPT [ARGUMENT]...      in the place of `python SCRIPT [ARGUMENT]...`
    nursery.py --serve SOCKET                   imports PyTorch, and forks a process for each that asks, until its input is closed

The script has the folder, the environment, the files and the process group of who asks, which ends as the script does and with
which it ends. What differs: who asks is not its parent, so that a signal that cannot be caught reaches one of them only; what the
interpreter and PyTorch read of the environment, PYTHONPATH say, they have read before; and all have one seed for hashes. Tests of
starting, killing and freezing workers, and of environments, take a real interpreter.
"""
import gc
import json
import os
import selectors
import signal
import socket
import sys
import types

HANDED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
CONNECT_S = 60
REQUEST_MAX = 1 << 20


def ask(path, words):
    """Of the one that is started in the script's place; never returns."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.settimeout(CONNECT_S)
        asking.connect(path)
        asking.settimeout(None)
        request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ), "group": os.getpgrp()}
        socket.send_fds(asking, [json.dumps(request).encode()], [0, 1, 2])
        process = int(asking.recv(32))
        for number in HANDED_ON:
            signal.signal(number, lambda number, _: os.kill(process, number))
        answer = asking.recv(32)
    if not answer:
        sys.exit("nursery: it has ended, and the script with it")
    status = int(answer)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def run_script(words):
    """As the interpreter does it: what the script raises is told, without what lies above the script."""
    script = words[0]
    sys.argv = list(words)
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    main = types.ModuleType("__main__")
    main.__file__ = script
    sys.modules["__main__"] = main
    try:
        with open(script, "rb") as file:
            code = compile(file.read(), script, "exec")
        exec(code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__.tb_next)
        sys.exit(1)


def be_the_script(request, descriptors):
    try:
        os.setpgid(0, request["group"])
    except OSError:
        pass  # The group has ended, or is of another session.
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    if os.environ.get("PYTHONUNBUFFERED"):
        sys.stdout.reconfigure(line_buffering=True)
    run_script(request["words"])


class Server:
    """Of one thread, so that it may fork."""

    def __init__(self, path):
        self.events = selectors.DefaultSelector()
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listening.bind(path)
        self.listening.listen(64)
        self.events.register(self.listening, selectors.EVENT_READ, self.accept)
        self.events.register(sys.stdin, selectors.EVENT_READ, self.end)
        self.children = set()

    def run(self):
        """Gives the request and the files of a script in the process that is to be it; elsewhere it does not return."""
        while True:
            for key, _ in self.events.select():
                if key.fileobj.fileno() < 0:
                    continue  # Closed by one before it.
                found = key.data()
                if found:
                    return found

    def end(self):
        """Whoever started this one has ended."""
        for process in self.children:
            os.kill(process, signal.SIGKILL)
        os._exit(0)

    def accept(self):
        asked, _ = self.listening.accept()
        data, descriptors, _, _ = socket.recv_fds(asked, REQUEST_MAX, 3)
        if not data:  # It ended before it asked.
            asked.close()
            return None
        process = os.fork()
        if process == 0:
            for key in list(self.events.get_map().values()):
                key.fileobj.close()
            self.events.close()
            asked.close()
            return json.loads(data), descriptors
        for descriptor in descriptors:
            os.close(descriptor)
        self.children.add(process)
        ended = open(os.pidfd_open(process), "rb", buffering=0)
        self.events.register(ended, selectors.EVENT_READ, lambda: self.tell(process, ended, asked))
        self.events.register(asked, selectors.EVENT_READ, lambda: self.kill(process, asked))
        try:
            asked.send(str(process).encode())
        except OSError:
            pass  # It has ended, and self.kill is about to know.
        return None

    def kill(self, process, asked):
        """Who asked has ended, before the script."""
        self.events.unregister(asked)
        os.kill(process, signal.SIGKILL)

    def tell(self, process, ended, asked):
        self.events.unregister(ended)
        ended.close()
        self.children.remove(process)
        _, status = os.waitpid(process, 0)
        if asked in self.events.get_map():
            self.events.unregister(asked)
            try:
                asked.send(str(status).encode())
            except OSError:
                pass  # Nobody asks any more.
        asked.close()


def serve(path):
    import torch  # noqa: F401
    import torch.utils.data  # noqa: F401
    gc.collect()
    gc.freeze()  # What is there stays where it is, and its pages shared.
    be_the_script(*Server(path).run())


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    else:
        ask(sys.argv[1], sys.argv[2:])
