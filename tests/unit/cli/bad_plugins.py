"""Plugins that misbehave in one hook."""

HOOKS = {
    "pre_enqueue": ("PreEnqueue", "def pre_enqueue(self, pod):"),
    "queue_sort": ("QueueSort", "def sort_key(self, queued):"),
    "pre_filter": ("PreFilter", "def pre_filter(self, cycle, pod):"),
    "filter": ("Filter", "def filter(self, cycle, pod, node):"),
    "post_filter": ("PostFilter", "def post_filter(self, cycle, pod, diagnosis):"),
    "pre_score": ("PreScore", "def pre_score(self, cycle, pod, nodes):"),
    "score": ("Score", "def score(self, cycle, pod, node):"),
    "score_all": ("Score", "def score_all(self, cycle, pod, nodes, out):"),
    "reserve": ("Reserve", "def reserve(self, cycle, pod, node):"),
    "permit": ("Permit", "def permit(self, cycle, pod, node):"),
    "pre_bind": ("PreBind", "async def pre_bind(self, cycle, pod, node):"),
    "bind": ("Bind", "async def bind(self, cycle, pod, node):"),
    "post_bind": ("PostBind", "def post_bind(self, cycle, pod, node):"),
}


def source(hook: str, body: str) -> str:
    """A plugin file whose class `Bad` does `body` in one hook."""
    base, signature = HOOKS[hook]
    return (
        f"import sys\nfrom moorage import {base}\n\n"
        f"class Bad({base}, frozen=True):\n    {signature}\n        {body}\n"
    )


def configuration(hook: str) -> str:
    """A configuration whose profile runs it."""
    replaced = {"queue_sort": "PrioritySort", "bind": "DefaultBinder"}.get(hook)
    disabled = f", disabled: [{{name: {replaced}}}]" if replaced else ""
    return f"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: Bad}}]{disabled}}}}}
"""
