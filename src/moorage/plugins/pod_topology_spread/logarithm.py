"""Go's natural logarithm: scores round as kube-scheduler's only if it agrees in every bit."""

import math
from functools import lru_cache

_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_L = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)


@lru_cache(maxsize=1 << 14)
def natural_log(number: int) -> float:
    """Go's math.Log, bit for bit: fdlibm's algorithm, which differs from libm's in the last place.

    number = 2**exponent * (1 + f) with 1 + f near 1; log(1 + f) by a polynomial in f / (2 + f).
    """
    fraction, exponent = math.frexp(number)
    if fraction < math.sqrt(2) / 2:
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_L[0] + s4 * (_L[2] + s4 * (_L[4] + s4 * _L[6])))
    even = s4 * (_L[1] + s4 * (_L[3] + s4 * _L[5]))
    half_square = 0.5 * f * f
    low = s * (half_square + (odd + even)) + exponent * _LN2_LOW
    return exponent * _LN2_HIGH - ((half_square - low) - f)
