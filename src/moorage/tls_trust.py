"""TLS contexts that check certificates as Go does: kube-scheduler trusts who is trusted here."""

import ssl


def trusting(
    purpose: ssl.Purpose = ssl.Purpose.SERVER_AUTH,
    *,
    cafile: str | None = None,
    cadata: str | None = None,
) -> ssl.SSLContext:
    """A context that trusts these certificate authorities; without any, those of the system.

    From Python 3.13 on the default is strict: it refuses authorities without extensions that those
    of clusters often lack, and that Go does not ask for.
    """
    context = ssl.create_default_context(purpose, cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
