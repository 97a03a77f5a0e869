"""What a private run keeps to itself: the source of its noise and of its draws.

A seed would not do. Whoever sees the generator can try seeds until one gives weights
like those it must have started from, and a seed that people type is short. So the
seed decides the first weights alone, and may be known.
"""

import hashlib
import re
import secrets

import numpy as np

_BYTES = 16


def new_secret() -> str:
    """Draws a secret from the operating system: 32 hexadecimal digits."""
    return secrets.token_hex(_BYTES)


def is_secret(text: str) -> bool:
    """Whether a text is what `new_secret` gives.

    Example:
      >>> is_secret(new_secret()), is_secret("hunter2")
      (True, False)
    """
    return re.fullmatch(rf"[0-9a-f]{{{2 * _BYTES}}}", text) is not None


def key_data(secret: str) -> np.ndarray:
    """The key that latents and noise come from: uint32[2], as jax's keys are.

    Args:
      secret: of the run.

    Returns:
      64 bits, which is all that jax's default generator takes.
    """
    return np.frombuffer(_derived(secret, "latents and noise")[:8], np.uint32)


def draws_seed(secret: str) -> int:
    """The seed of which digits are in which batch, below 2**63."""
    return int.from_bytes(_derived(secret, "draws")[:8], "big") >> 1


def keyed(secret: str, digest: str) -> str:
    """A hash that only those who know the secret can compare with one of theirs.

    The plain hash of all digits tells who knows all but one whether that one is there.

    Args:
      secret: of the run.
      digest: of the digits.

    Returns:
      64 hexadecimal digits.
    """
    return _derived(secret, f"digits {digest}").hex()


def _derived(secret: str, purpose: str) -> bytes:
    return hashlib.sha256(f"{secret} {purpose}".encode()).digest()
