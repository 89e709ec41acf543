"""The compiled inner loops, and the same in NumPy: the reference and the fallback.

To add a kernel

1. write ``<topic>.c`` in this folder: include ``kernels.h``, write
   ``PD_EXPORT int32_t PD_KERNEL(pd_name)(...)`` for what Python calls ``pd_name``; take pointers to
   C-contiguous arrays, numbers as ``int64_t`` and ``double``, and write into arrays that the caller made.
   No globals, no allocation that outlives the call: several threads call it at once. Sums are in double
   precision and in a fixed order, so that neither the processor nor the number of threads changes a digit.
   Every ``*.c`` here is compiled, nothing needs to be registered;
2. write ``<topic>.py`` with a `Kernel` for each function and, beside it, the same in NumPy; a public function
   picks the kernel if ``kernel.available`` and the array types fit, NumPy if not;
3. compile in place with ``python -m princdiff.kernels.build`` (``make test`` does it) and compare both in
   ``tests/kernels/test_<topic>.py``, and its passes for several kinds of processors in ``test_passes.py``;
   ``make sanitize`` runs these tests in every pass with the address and undefined-behaviour sanitizers.

``PRINCDIFF_ENGINE=numpy`` makes a process use NumPy, ``PRINCDIFF_ENGINE=compiled`` refuses to do without the
library, ``plain``, ``avx2`` and ``avx512`` choose one of its passes.
"""

from princdiff.kernels.engine_choice import Kernel, describe_engine, engine

__all__ = ["Kernel", "describe_engine", "engine"]
