"""What tenants use; of a tenant without pods, nothing is kept."""

from moorage.cache.cache import Cache
from moorage.tenancy.usage import TenantUsage
from moorage.testing import node, pod


def test_tenants_that_have_no_pods_any_more_are_forgotten() -> None:
    cache, usage = Cache(), TenantUsage(lambda pod: pod.namespace)
    cache.put_node(node("a").build())
    usage.catch_up(cache.table)
    cache.put_pod(pod("stays", "red").requesting(cpu="2").on("a").build())
    for number in range(1000):
        made = pod("web", f"tenant-{number}").requesting(cpu="1").on("a").build()
        cache.put_pod(made)
        usage.catch_up(cache.table)
        assert usage.of(f"tenant-{number}")[0] == 1000
        cache.remove_pod(made.uid)
        usage.catch_up(cache.table)

    assert usage.of("red")[0] == 2000
    assert usage.of("tenant-7")[0] == 0
    assert set(usage._used) == set(usage._counted) == {"red"}


def test_a_pod_is_taken_from_the_tenant_that_it_was_counted_for() -> None:
    tenant = {"default": "red"}
    cache, usage = Cache(), TenantUsage(lambda pod: tenant[pod.namespace])
    cache.put_node(node("a").build())
    usage.catch_up(cache.table)
    stays, leaves = (pod(name).requesting(cpu="2").on("a").build() for name in ("stays", "leaves"))
    cache.put_pod(stays)
    cache.put_pod(leaves)
    usage.catch_up(cache.table)
    assert usage.of("red")[0] == 4000

    tenant["default"] = "blue"
    cache.remove_pod(leaves.uid)
    usage.catch_up(cache.table)

    assert (usage.of("red")[0], usage.of("blue")[0]) == (2000, 0)


def test_the_total_is_of_joined_tenants_only() -> None:
    cache, usage = Cache(), TenantUsage(lambda pod: pod.namespace)
    cache.put_node(node("a").build())
    pods = [pod("web", name).requesting(cpu="1").on("a").build() for name in ("red", "blue")]
    cache.put_pod(pods[0])
    usage.catch_up(cache.table)
    usage.join("red")
    usage.join("blue")
    assert usage.total[0] == 1000

    cache.put_pod(pods[1])
    usage.catch_up(cache.table)
    assert usage.total[0] == 2000

    usage.part("red")
    assert usage.total[0] == 1000

    cache.table.pod_log.restart()
    usage.catch_up(cache.table)
    assert usage.total[0] == 1000

    cache.remove_pod(pods[1].uid)
    usage.catch_up(cache.table)
    assert usage.total[0] == 0
