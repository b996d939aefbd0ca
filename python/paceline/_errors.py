"""What can go wrong, as exceptions that say what to do about it."""


class Error(Exception):
    """The base of all exceptions of this package.

    ``exit_code`` is what a process that a job has started should end with, so that Paceline knows whether to start
    it again.
    """

    exit_code = 1  # Starting again may help.


class NoJob(Error):
    """The process was not started by a job, and has nothing to train with alone."""

    exit_code = 2


class Refused(Error):
    """The job or its coordinator refuses this worker: a model of other shapes, the worker expelled."""

    exit_code = 2


class HoldsFrozen(Refused):
    """The job has as buffers what this worker has frozen, and welcomes one that has them so."""


class Lost(Error):
    """Coordinator or parameter servers did not come back in time."""


class CannotHere(Error):
    """This machine cannot do it (no usable GPU, say); another one may."""

    exit_code = 3


class Misuse(Error):
    """A call that cannot be meant so: a step without a batch, a batch without a step, a model moved elsewhere."""

    exit_code = 2
