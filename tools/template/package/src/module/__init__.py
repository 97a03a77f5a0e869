"""@ABOUT@."""

from @MODULE@._double import double

__all__ = ["double"]
