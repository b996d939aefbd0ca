"""The user's name, for those who ask for it."""

import getpass
import os


def have_a_name() -> None:
    """PyTorch asks for it when it makes an optimizer, and a pod's user is often a number without one."""
    try:
        getpass.getuser()
    except (KeyError, OSError):
        os.environ["LOGNAME"] = "paceline"
