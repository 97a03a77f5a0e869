"""What a user can put right."""


class UserError(Exception):
    """Something the user asked for cannot be done.

    The message is one line that says what was found, what was wanted and what to type;
    the command line prints it and exits with code 2, before anything is written.
    """


class DivergedError(Exception):
    """The losses stopped being finite; the command line exits with code 3."""


class HostsError(Exception):
    """A process of the run is missing, or has gone another way than the others.

    The message names it; the command line exits with code 70.
    """


def is_lost_collective(error: BaseException) -> bool:
    """Whether XLA says that another process has broken off what both were doing.

    It raises several types then, and libraries wrap them.

    Example:
      >>> is_lost_collective(ValueError("UNKNOWN: Gloo AllGather failed: Connection"))
      True
      >>> is_lost_collective(OSError("No space left on device"))
      False
    """
    if isinstance(error, (UserError, DivergedError, HostsError)):
        return False  # which say already what happened
    cause = error.__cause__ or error.__context__
    return (
        type(error).__name__ in {"JaxRuntimeError", "XlaRuntimeError"}
        or "Gloo " in str(error)
        or (cause is not None and is_lost_collective(cause))
    )
