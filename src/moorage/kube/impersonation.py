"""Acting as somebody else, as `as`, `as-uid`, `as-groups` and `as-user-extra` ask."""

from urllib.parse import quote

from multidict import CIMultiDict

from moorage.kube.kubeconfig import User


def headers(user: User) -> CIMultiDict[str]:
    """The Impersonate headers; none where nobody is impersonated."""
    found: CIMultiDict[str] = CIMultiDict()
    if not user.impersonate:
        return found
    found.add("Impersonate-User", user.impersonate)
    if user.impersonate_uid:
        found.add("Impersonate-Uid", user.impersonate_uid)
    for group in user.impersonate_groups:
        found.add("Impersonate-Group", group)
    for key, values in user.impersonate_extra.items():
        for value in values:
            found.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    return found
