"""A checksum of each row of a column, the same numbers from PyTorch on a device and from NumPy on the host.

A row's bytes are taken as whole numbers of 64 bits, each multiplied by an odd number of its own, and added up, all
modulo 2^64: whatever the order of adding, the sum is the same to the bit, and one number that changes changes it.
"""
import numpy as np
import torch

#: Rows must be multiples of this many bytes.
WORD = 8


def factors(length):
    """The odd numbers for rows of `length` bytes, as int64."""
    drawn = np.random.default_rng(length).integers(-(2**63), 2**63 - 1, length // WORD, np.int64)
    return drawn | 1


class Checksum:
    """Of rows of `length` bytes."""

    def __init__(self, length, device):
        self._host = factors(length)
        self._there = torch.from_numpy(self._host).to(device)

    def host(self, rows):
        """Of a NumPy array: an int64 for each row."""
        words = np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.int64)
        return (words * self._host).sum(axis=1, dtype=np.int64)

    def there(self, rows):
        """Of a tensor, where it is: nothing is waited for."""
        words = rows.reshape(len(rows), -1).view(torch.int64)
        return (words * self._there).sum(dim=1)
