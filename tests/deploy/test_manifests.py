"""Manifests hold together: what refers to something finds it, and nobody may more than needed."""

import pytest
import yaml
from click.testing import CliRunner

from moorage.app import config_bundle
from moorage.app.assembly import OPTIONAL
from moorage.app.built_in_plugins import describe_installed, installed
from moorage.app.config_text import ConfigText
from moorage.cli.main import main
from moorage.config.lease_config import KUBE_LEASE, KUBE_NAMESPACE, NAMESPACE, lease_warnings
from moorage.config.loader import load
from moorage.config.types import LeaderElection, Profile, SchedulerConfiguration, StandIn
from moorage.feeds.metrics_server import NODE_METRICS
from moorage.gang.feature import DIALECTS
from moorage.policies.network_latency import CONFIG_MAP
from moorage.scheduler.intake import FOLLOWED
from moorage.serve.request_authorizer import ACCESS_REVIEWS, TOKEN_REVIEWS
from moorage.watch.api_resources import EVENTS, LEASES, NODES, PODS, RESOURCES
from tests.deploy.tools import DEPLOY, OVERLAYS, ROOT, Raw, objects, of_kind

CLAIMS = RESOURCES["resourceclaims"]
SCHEDULERS = OVERLAYS[:3]
ANY = ""
"""In place of the name of an object: the right is to all."""
FOLLOW = ("list", "watch")
pytestmark = pytest.mark.kube


def allowed(rules: list[Raw]) -> set[tuple[str, str, str]]:
    """(group, resource, verb) of every rule about resources of all names."""
    return {
        (group, resource, verb)
        for rule in rules
        if "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def configuration(overlay: str, deployment: Raw) -> SchedulerConfiguration:
    """What a deployment's scheduler is told to do."""
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    name = next(volume["configMap"]["name"] for volume in volumes if "configMap" in volume)
    [found] = [m for m in of_kind(overlay, "ConfigMap") if m["metadata"]["name"] == name]
    return load(found["data"]["scheduler.yaml"], known=describe_installed()).configuration


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kustomize_builds(overlay: str) -> None:
    made = [
        (obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"])
        for obj in objects(overlay)
    ]

    assert len(set(made)) == len(made) > 0


def test_a_scheduler_may_do_what_it_does_and_nothing_else() -> None:
    [role] = of_kind("base", "ClusterRole")
    follows = {
        (resource.group, resource.plural, verb)
        for resource in (*FOLLOWED, *(resource for versions in OPTIONAL for resource in versions))
        for verb in FOLLOW
    }
    does = {
        (PODS.group, "pods", "get"),
        (NODES.group, "nodes", "get"),
        (PODS.group, "pods/binding", "create"),
        (PODS.group, "pods/status", "patch"),
        (PODS.group, "pods", "delete"),
        (PODS.group, "pods/eviction", "create"),
        *((versions[0].group, "podgroups/status", "patch") for versions in DIALECTS),
        ("scheduling.x-k8s.io", "elasticquotas/status", "patch"),
        (EVENTS.group, "events", "create"),
        (EVENTS.group, "events", "patch"),
        ("", "persistentvolumes", "patch"),
        ("", "persistentvolumeclaims", "patch"),
        *((CLAIMS.group, CLAIMS.plural, verb) for verb in ("get", "create", "patch", "delete")),
        (CLAIMS.group, "resourceclaims/status", "patch"),
        *((CLAIMS.group, "resourceclaims/binding", verb) for verb in ("patch", "update")),
        (TOKEN_REVIEWS.group, TOKEN_REVIEWS.plural, "create"),
        (ACCESS_REVIEWS.group, ACCESS_REVIEWS.plural, "create"),
    }

    assert allowed(role["rules"]) == follows | does


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_a_scheduler_may_hold_the_lease_it_is_told_to_hold(overlay: str) -> None:
    bindings = of_kind(overlay, "RoleBinding")
    roles = {
        (r["metadata"]["namespace"], r["metadata"]["name"]): r for r in of_kind(overlay, "Role")
    }
    for deployment in of_kind(overlay, "Deployment"):
        account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
        election = configuration(overlay, deployment).leader_election
        [binding] = [b for b in bindings if b["subjects"][0]["name"] == account]
        role = roles[binding["metadata"]["namespace"], binding["roleRef"]["name"]]
        granted = {
            (verb, name)
            for rule in role["rules"]
            for verb in rule["verbs"]
            for name in rule.get("resourceNames", [ANY])
        }
        in_place = election.resource_namespace == KUBE_NAMESPACE
        name = election.resource_name if in_place else ANY

        assert election.leader_elect
        assert binding["metadata"]["namespace"] == election.resource_namespace
        assert granted == {("create", ANY), ("get", name), ("update", name)}
        assert {tuple(rule["resources"]) for rule in role["rules"]} == {(LEASES.plural,)}


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        (NAMESPACE, "gpu"),
        (NAMESPACE, KUBE_LEASE),
        (KUBE_NAMESPACE, KUBE_LEASE),
        (KUBE_NAMESPACE, "gpu"),
        ("default", "gpu"),
    ],
)
@pytest.mark.parametrize(
    ("verbs", "section"),
    [({"create", "get", "update"}, "leaderElection"), ({"get"}, "standInFor")],
    ids=["held", "read"],
)
def test_config_check_warns_of_the_leases_that_no_role_grants(
    verbs: set[str], section: str, namespace: str, name: str
) -> None:
    other = StandIn(scheduler_name="x", lease_name=name, lease_namespace=namespace)
    held = section == "leaderElection"
    told = SchedulerConfiguration(
        leader_election=LeaderElection(
            leader_elect=held, resource_name=name, resource_namespace=namespace
        ),
        profiles=(Profile("ours", stand_in_for=() if held else (other,)),),
    )

    granted = any(
        verbs <= {verb for rule in role["rules"] if _is_about(rule, name) for verb in rule["verbs"]}
        for overlay in (*SCHEDULERS, "overlays/stand-in-for-kube-scheduler")
        for role in of_kind(overlay, "Role")
        if role["metadata"]["namespace"] == namespace
    )
    assert (list(lease_warnings(told)) == []) == granted


def _is_about(rule: Raw, name: str) -> bool:
    """Whether a rule is about the Lease of this name; one that is to be created has no name yet."""
    named = rule.get("resourceNames", [name])
    return LEASES.plural in rule["resources"] and name in named


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_accounts_and_roles_are_bound_together(overlay: str) -> None:
    accounts = {a["metadata"]["name"] for a in of_kind(overlay, "ServiceAccount")}
    bound = {
        b["subjects"][0]["name"]: b["roleRef"]["name"]
        for b in of_kind(overlay, "ClusterRoleBinding")
    }

    used = {
        d["spec"]["template"]["spec"]["serviceAccountName"] for d in of_kind(overlay, "Deployment")
    }
    assert accounts == used == set(bound)
    assert set(bound.values()) == {"moorage"}


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_services_and_budgets_select_the_pods_of_one_deployment(overlay: str) -> None:
    deployments = [d["spec"] for d in of_kind(overlay, "Deployment")]
    selectors = [d["selector"]["matchLabels"] for d in deployments]
    spread = [
        d["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchLabels"]
        for d in deployments
    ]
    services = [s["spec"]["selector"] for s in of_kind(overlay, "Service")]
    budgets = [
        b["spec"]["selector"]["matchLabels"] for b in of_kind(overlay, "PodDisruptionBudget")
    ]

    assert selectors == spread == services == budgets
    assert len({selector["app.kubernetes.io/instance"] for selector in selectors}) == len(selectors)
    for selector, deployment in zip(selectors, deployments, strict=True):
        assert selector.items() <= deployment["template"]["metadata"]["labels"].items()


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_two_replicas_run_without_privileges(overlay: str) -> None:
    for deployment in of_kind(overlay, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]

        assert deployment["spec"]["replicas"] == 2
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"memory"} <= container["resources"]["limits"].keys()


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_a_scheduler_reads_the_configuration_of_its_config_map(overlay: str) -> None:
    held = {m["metadata"]["name"]: m["data"] for m in of_kind(overlay, "ConfigMap")}
    for deployment in of_kind(overlay, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]
        [told] = [arg for arg in container["args"] if arg.startswith("--config=")]
        folder, _, file = told.removeprefix("--config=").rpartition("/")
        [mount] = [m for m in container["volumeMounts"] if m["mountPath"] == folder]
        [volume] = [v for v in pod["volumes"] if v["name"] == mount["name"]]

        assert file in held[volume["configMap"]["name"]]
        assert "--v=2" in container["args"]


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_a_scheduler_is_sure_of_its_room(overlay: str) -> None:
    for deployment in of_kind(overlay, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]

        assert pod["priorityClassName"] == "system-cluster-critical"
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]


@pytest.mark.parametrize("overlay", SCHEDULERS)
def test_probes_ask_what_is_served(overlay: str) -> None:
    for deployment in of_kind(overlay, "Deployment"):
        [container] = deployment["spec"]["template"]["spec"]["containers"]
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        for probe, path in (
            ("startupProbe", "/livez"),
            ("livenessProbe", "/livez"),
            ("readinessProbe", "/readyz"),
        ):
            asked = container[probe]["httpGet"]
            assert (asked["scheme"], asked["path"], ports[asked["port"]]) == ("HTTPS", path, 10259)


def test_the_schedulers_of_the_seeds_run_side_by_side() -> None:
    overlay = "overlays/several-schedulers"
    told = [configuration(overlay, d) for d in of_kind(overlay, "Deployment")]

    names = {profile.scheduler_name for config in told for profile in config.profiles}
    leases = {
        (config.leader_election.resource_namespace, config.leader_election.resource_name)
        for config in told
    }
    assert names == {"default-scheduler", "gpu-scheduler", "batch-scheduler"}
    assert len(leases) == len(told)


def test_whoever_schedules_for_all_shares_the_lease_of_kube_scheduler() -> None:
    """Two schedulers of one name would bind each other's pods."""
    for overlay in SCHEDULERS:
        for deployment in of_kind(overlay, "Deployment"):
            told = configuration(overlay, deployment)
            names = {profile.scheduler_name for profile in told.profiles}
            election = told.leader_election
            shared = (election.resource_namespace, election.resource_name) == (
                "kube-system",
                "kube-scheduler",
            )
            assert shared == ("default-scheduler" in names)


def test_the_image_runs_as_the_user_of_the_manifests() -> None:
    [deployment] = of_kind("base", "Deployment")
    user = deployment["spec"]["template"]["spec"]["securityContext"]["runAsUser"]

    assert f"\nUSER {user}:{user}\n" in (ROOT / "deploy" / "Dockerfile").read_text()


@pytest.mark.parametrize("overlay", [*SCHEDULERS, "overlays/policies"])
def test_an_applied_change_reaches_running_replicas(overlay: str) -> None:
    """The ConfigMap keeps its name, so that a kubelet mounts the new one where the old one was."""
    for deployment in of_kind(overlay, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        [volume] = [each for each in pod["volumes"] if each["name"] == "config"]
        [container] = pod["containers"]
        [mount] = [each for each in container["volumeMounts"] if each["name"] == "config"]

        assert volume["configMap"]["name"].endswith("moorage-config")
        assert "subPath" not in mount
        assert f"--config={mount['mountPath']}/scheduler.yaml" in container["args"]


def test_the_policies_of_the_cluster_are_followed_and_nothing_else_is() -> None:
    overlay = "overlays/policies"
    [deployment] = of_kind(overlay, "Deployment")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    [ref] = [a.partition("=")[2] for a in container["args"] if a.startswith("--config-map=")]
    namespace, _, name = ref.partition("/")
    [role] = [r for r in of_kind(overlay, "Role") if r["metadata"]["name"] == "moorage-policies"]
    [found] = [m for m in of_kind(overlay, "ConfigMap") if m["metadata"]["name"] == name]
    scheduler = (DEPLOY / "components" / "policies" / "scheduler.yaml").read_bytes()
    together = config_bundle.load_bundle(
        [ConfigText("f", scheduler), ConfigText("m", yaml.safe_dump(found).encode())], installed()
    )

    assert role["metadata"]["namespace"] == namespace == found["metadata"]["namespace"]
    assert role["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": [name],
            "verbs": ["get", "list", "watch"],
        }
    ]
    assert [policy.name for policy in together.policies] == ["batch-policy", "default-policy"]
    assert together.warnings == ()


def test_standing_in_takes_one_right_more() -> None:
    """To read the Lease of each scheduler that the configuration names, and nothing else."""
    overlay, own = "overlays/stand-in-for-kube-scheduler", objects("base")
    added = [obj for obj in objects(overlay) if not any(_same(obj, one) for one in own)]
    [role] = [obj for obj in added if obj["kind"] == "Role"]
    [binding] = [obj for obj in added if obj["kind"] == "RoleBinding"]
    [deployment] = of_kind(overlay, "Deployment")
    [profile] = configuration(overlay, deployment).profiles
    [other] = profile.stand_in_for
    rule = {"apiGroups": [LEASES.group], "resources": [LEASES.plural], "verbs": ["get"]}

    assert {obj["kind"] for obj in added} == {"Role", "RoleBinding"}
    assert role["rules"] == [{**rule, "resourceNames": [other.lease_name]}]
    assert role["metadata"]["namespace"] == other.lease_namespace
    assert binding["metadata"]["namespace"] == other.lease_namespace
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    [subject] = binding["subjects"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert (subject["name"], subject["namespace"]) == (account, "moorage-system")


def _same(one: Raw, other: Raw) -> bool:
    named = (("kind",), ("metadata", "namespace"), ("metadata", "name"))
    return all(_at(one, path) == _at(other, path) for path in named)


def _at(obj: Raw, path: tuple[str, ...]) -> object:
    found: object = obj
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found


def test_measuring_takes_few_rights_more() -> None:
    """The scheduler may read what is measured; a prober lists nodes and writes one ConfigMap."""
    overlay, own = "overlays/measured", {obj["metadata"]["name"] for obj in objects("base")}
    added = {
        (role["kind"], role["metadata"]["name"]): role["rules"]
        for kind in ("ClusterRole", "Role")
        for role in of_kind(overlay, kind)
        if role["metadata"]["name"] not in own
    }
    namespace, _, name = CONFIG_MAP.partition("/")
    latencies = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name]}

    assert added == {
        ("ClusterRole", "moorage-metrics"): [
            {
                "apiGroups": [NODE_METRICS.group],
                "resources": [NODE_METRICS.plural],
                "verbs": ["list"],
            }
        ],
        ("ClusterRole", "moorage-prober"): [
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
        ],
        ("Role", "moorage-latencies"): [{**latencies, "verbs": ["get", "watch"]}],
        ("Role", "moorage-prober"): [{**latencies, "verbs": ["get", "patch"]}],
    }
    [written] = [m for m in of_kind(overlay, "ConfigMap") if m["metadata"]["name"] == name]
    assert written["metadata"]["namespace"] == namespace
    assert "data" not in written


def test_probers_run_without_privileges_on_every_node() -> None:
    [daemons] = of_kind("overlays/measured", "DaemonSet")
    pod = daemons["spec"]["template"]["spec"]
    [container] = pod["containers"]

    assert "hostNetwork" not in pod
    assert pod["serviceAccountName"] == "moorage-prober"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["env"][0]["name"] == "NODE_NAME"
    options = CliRunner().invoke(main, [*container["args"], "--help"])
    assert options.exit_code == 0
    assert "$NODE_NAME" in options.output


def test_the_dashboard_is_served_and_its_right_is_one_path_and_one_verb() -> None:
    (deployment,) = of_kind("overlays/dashboard", "Deployment")
    args = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    roles = {
        each["metadata"]["name"]: each for each in of_kind("overlays/dashboard", "ClusterRole")
    }

    assert {"--dashboard", "--enable-explain", "--http-port=10260"} <= set(args)
    assert roles["moorage-dashboard-viewer"]["rules"] == [
        {"nonResourceURLs": ["/dashboard/", "/dashboard/*"], "verbs": ["get"]}
    ]
