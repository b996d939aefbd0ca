"""The files that the checks of the tree look at: those that git tracks, or all of a copy without git."""
import os
import subprocess
from pathlib import Path

NOT_SOURCES = {"build", "paceline-runs", "paceline-volumes", "__pycache__", ".git"}  # Of a copy without git.


class Tree:
    """`files`: what can be read, sorted. `paths`: all that exists, folders and links too, relative to the root."""

    def __init__(self, root):
        self.root = Path(root)
        listed = tracked(self.root) if (self.root / ".git").exists() else walked(self.root)
        there = [path for path in listed if os.path.lexists(self.root / path)]  # git lists what was just deleted, too.
        self.files = sorted(self.root / path for path in there if is_plain(self.root / path))
        self.paths = {Path(".")}
        for path in map(Path, there):
            self.paths |= {path, *path.parents}

    def below(self, folder):
        return [file for file in self.files if self.root / folder in file.parents]

    def has(self, path):
        """Whether `path`, absolute or relative to the root, is in the tree; what lies outside of it is not."""
        return Path(os.path.relpath(self.root / path, self.root)) in self.paths

    def text(self, path):
        """What the file says; nothing if it is not in the tree."""
        return (self.root / path).read_text() if self.has(path) else ""


def is_plain(path):
    return path.is_file() and not path.is_symlink()


def tracked(root):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}  # Of a hook's repository.
    # In a container the checkout often belongs to another user, whose settings git does not trust. A listing runs none of them.
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"], env=environment, check=True,
                            stdout=subprocess.PIPE)
    return [os.fsdecode(path) for path in listed.stdout.split(b"\0") if path]


def walked(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_SOURCES]
        for name in names + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            yield os.path.relpath(os.path.join(folder, name), root)
