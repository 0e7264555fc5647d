"""Sizes to which numbers of points are rounded up, so that few programs are compiled."""


def bucket(n: int) -> int:
    """Smallest of 0, 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least n.

    Two sizes per doubling: at most a third of a padded array is padding, and up to n there are
    about 2 log2(n) sizes.
    """
    if n <= 4:
        return n
    power = 1 << (n - 1).bit_length()  # the next power of two
    return 3 * power // 4 if n <= 3 * power // 4 else power


def bucket_below(n: int) -> int:
    """Largest of the same sizes that is at most n."""
    size = bucket(n)
    while size > n:
        size = bucket(size * 2 // 3) if bucket(size * 2 // 3) < size else size - 1
    return size
