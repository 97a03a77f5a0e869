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
