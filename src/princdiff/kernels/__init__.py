"""The compiled inner loops, and the same in NumPy: the reference and the fallback.

To add a kernel

1. write ``<topic>.c`` in this folder: include ``kernels.h``, mark what Python calls ``PD_EXPORT``, and
   ``PD_CLONES`` where wider registers help; take pointers to C-contiguous arrays, numbers as ``int64_t`` and
   ``double``, and write into arrays that the caller made. No globals, no allocation that outlives the call:
   several threads call it at once. Sums are in double precision and in a fixed order, so that neither
   the processor nor the number of threads changes a digit. Every ``*.c`` here is compiled, nothing needs to
   be registered;
2. write ``<topic>.py`` with a `Kernel` for each function and, beside it, the same in NumPy; a public function
   picks the kernel if ``kernel.available`` and the array types fit, NumPy if not;
3. compile in place with ``python -m princdiff.kernels.build`` (``make test`` does it) and compare both in
   ``tests/kernels/test_<topic>.py``; ``make sanitize`` runs these tests with the address and
   undefined-behaviour sanitizers.

``PRINCDIFF_ENGINE=numpy`` makes a process use NumPy, ``PRINCDIFF_ENGINE=compiled`` refuses to do without the
library.
"""

from princdiff.kernels.engine_choice import Kernel, describe_engine, engine

__all__ = ["Kernel", "describe_engine", "engine"]
