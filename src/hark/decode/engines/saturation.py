"""Whether this CPU saturates 8-bit matrix products.

With VNNI or on ARM, products of 8-bit numbers are summed in 32 bits. Other x86 CPUs first add two neighbouring products
in 16 bits. Activations are at most 255 and weights 127, so such a sum can exceed 32,767, and is cut off there. With
weights of 7 bits, at most 64, it cannot.
"""

import platform
from functools import cache

from hark.machine import cpu_features

X86 = ("x86_64", "amd64", "i386", "i686")
SUMS_IN_32_BITS = "avx512_vnni"


@cache
def saturates() -> bool:
    """Whether sums of 8-bit products are cut off. An x86 CPU that is not known to have VNNI counts as one that does."""
    return platform.machine().lower() in X86 and SUMS_IN_32_BITS not in cpu_features()
