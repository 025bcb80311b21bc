"""The manifests in deploy are held to settings, Dockerfile and app: no engine here runs them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rag_app.cli import parser
from rag_app.settings import Settings
from rag_app.ui import health
from tests.test_docker import arguments

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
KNOWN = {*Settings.names()}
APPS = ("app1", "app2")
WORKERS = ("worker1", "worker2")
[PORT] = arguments("EXPOSE")
USER = int(re.search(r"useradd [^&]*--uid (\d+)", " ".join(arguments("RUN")))[1])


def manifests() -> dict[str, dict[str, Any]]:
    """By kind, all that kustomize is told of; what is for workers as `Worker…`."""
    told = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text("utf-8"))
    files = [DEPLOY / "kubernetes" / name for name in told["resources"]]
    there = {one for one in (DEPLOY / "kubernetes").glob("*.yaml") if "kustom" not in one.name}
    assert set(files) == there
    made = [one for path in files for one in yaml.safe_load_all(path.read_text("utf-8"))]
    return {_called(one): one for one in [told, *made]}


def _called(one: dict[str, Any]) -> str:
    name = one.get("metadata", {}).get("name", "")
    return f"Worker{one['kind']}" if name == "rag-app-worker" else str(one["kind"])


def compose() -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    return made


def container() -> dict[str, Any]:
    [one] = manifests()["Deployment"]["spec"]["template"]["spec"]["containers"]
    return dict(one)


def literals() -> dict[str, str]:
    [made] = manifests()["Kustomization"]["configMapGenerator"]
    return dict(one.split("=", 1) for one in made["literals"])


def test_every_setting_that_is_given_is_one():
    given = [compose()["services"][app]["environment"] for app in APPS] + [literals()]
    for environment in given:
        assert {name for name in environment if name.startswith("RAG_APP_")} <= KNOWN
    for path in [*DEPLOY.rglob("*.yaml"), DEPLOY / "secrets" / "README.md"]:
        text = path.read_text("utf-8")
        assert set(re.findall(r"RAG_APP_[A-Z_]+", text)) <= KNOWN, path
        files = {one.upper() for one in re.findall(r"\brag_app_[a-z_]+", text)}
        assert files - {"RAG_APP_REPLICA", "RAG_APP_READER"} <= KNOWN, path


def test_the_values_are_ones_that_the_app_takes():
    for given in (compose()["services"]["app1"]["environment"], literals()):
        named = {
            name.removeprefix("RAG_APP_").lower(): re.sub(
                r"\$\{[^}]*\}", "documents.example.org", v
            )
            for name, v in given.items()
            if name in Settings.names() and name != "RAG_APP_SECRETS_DIR"
        }
        named["oidc_url"] = "https://id.example.org"
        secret = {"oidc_secret": "s", "cookie_secret": "c" * 32}
        made = Settings.load(**named, **secret, database_url="postgresql://database/rag_app")
        assert made.log == "json" and made.drain_seconds > 0 and made.sign_in == "oidc"
        assert not made.exposed_on("0.0.0.0")


def test_secrets_are_files_and_stand_in_no_environment():
    secret = {
        name for name, field in Settings.model_fields.items() if "Secret" in str(field.annotation)
    }
    wanted = {f"rag_app_{name}" for name in ("cookie_secret", "oidc_secret", "metrics")}
    assert {one.removeprefix("rag_app_") for one in wanted} <= secret
    told = compose()
    for app in APPS:
        service = told["services"][app]
        assert wanted | {"rag_app_database_url"} == set(service["secrets"])
        assert not [
            n for n in service["environment"] if n.removeprefix("RAG_APP_").lower() in secret
        ]
    assert set(told["services"]["app1"]["secrets"]) <= set(told["secrets"])
    assert not [n for n in literals() if n.removeprefix("RAG_APP_").lower() in secret]
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    [mounted] = [one["secret"] for one in pod["volumes"] if "secret" in one]
    assert {one["path"] for one in mounted["items"]} == wanted | {"rag_app_database_url"}
    [place] = [one for one in container()["volumeMounts"] if one["name"] == "secrets"]
    assert place["mountPath"] == literals()["RAG_APP_SECRETS_DIR"]


def test_ports_and_users_are_the_images():
    for app in APPS:
        assert compose()["services"][app]["user"] == f"{USER}:{USER}"
    proxied = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert re.search(rf"reverse_proxy app1:{PORT} app2:{PORT} ", proxied)
    [port] = container()["ports"]
    assert port == {"name": "http", "containerPort": int(PORT)}
    pod = manifests()["Deployment"]["spec"]["template"]
    assert pod["spec"]["securityContext"]["runAsUser"] == USER
    assert pod["metadata"]["annotations"]["prometheus.io/port"] == PORT
    assert pod["metadata"]["annotations"]["prometheus.io/path"] == health.METRICS
    assert manifests()["Service"]["spec"]["ports"][0]["targetPort"] == "http"
    last = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()[-1]
    assert last == f"USER {arguments('USER')[-1]}"


def test_probes_ask_what_the_app_answers():
    one = container()
    asked = {
        name: one[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")
    }
    assert {got["port"] for got in asked.values()} == {"http"}
    assert asked["livenessProbe"]["path"] == health.LIVE
    assert asked["readinessProbe"]["path"] == asked["startupProbe"]["path"] == health.READY
    for app in APPS:
        test = compose()["services"][app]["healthcheck"]["test"]
        assert f"http://127.0.0.1:{PORT}{health.READY}" in test[-1]
        compile(test[-1], "healthcheck", "exec")
    assert f"health_uri {health.READY}" in (DEPLOY / "Caddyfile").read_text("utf-8")


def test_a_stop_is_waited_for_longer_than_it_takes():
    drains = float(compose()["services"]["app1"]["environment"]["RAG_APP_DRAIN_SECONDS"])
    for app in APPS:
        waits = compose()["services"][app]["stop_grace_period"]
        assert int(waits.removesuffix("s")) >= drains + 30
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] >= float(literals()["RAG_APP_DRAIN_SECONDS"]) + 30


@pytest.mark.parametrize("name", ["proxy", *APPS, *WORKERS, "database", "objects"])
def test_every_service_has_a_probe_and_limits(name):
    service = compose()["services"][name]
    assert service["healthcheck"]["test"][0] == "CMD"
    assert service["cpus"] and service["mem_limit"] and service["restart"] == "unless-stopped"


def test_only_the_proxy_is_reached_from_outside():
    told = compose()
    assert [name for name, one in told["services"].items() if "ports" in one] == ["proxy"]
    assert told["networks"]["back"]["internal"] is True
    for name in ("database", "objects"):
        assert told["services"][name]["networks"] == ["back"]
    hidden = re.search(r"@inside path (.*)", (DEPLOY / "Caddyfile").read_text("utf-8"))[1].split()
    assert {health.METRICS, "/health/*", "/_stcore/metrics"} == set(hidden)


def test_a_browser_stays_with_one_of_them():
    assert "lb_policy cookie" in (DEPLOY / "Caddyfile").read_text("utf-8")
    assert manifests()["Service"]["spec"]["sessionAffinity"] == "ClientIP"
    annotations = manifests()["Ingress"]["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/affinity"] == "cookie"


def test_kubernetes_scales_keeps_one_and_shuts_the_rest_out():
    made = manifests()
    scaled = made["HorizontalPodAutoscaler"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == made["Deployment"]["metadata"]["name"]
    assert scaled["minReplicas"] == made["Deployment"]["spec"]["replicas"] == 2
    label = {"app.kubernetes.io/name": "rag-app"}
    assert made["Kustomization"]["labels"][0]["pairs"] == label
    apps = {"app.kubernetes.io/component": "app"}
    assert made["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == apps
    assert made["Service"]["spec"]["selector"] == apps
    assert made["Deployment"]["spec"]["selector"]["matchLabels"] == apps
    assert made["Deployment"]["spec"]["template"]["metadata"]["labels"] == apps
    assert made["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == label
    assert set(made["NetworkPolicy"]["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    one = container()["securityContext"]
    assert one["readOnlyRootFilesystem"] and one["capabilities"] == {"drop": ["ALL"]}
    assert container()["resources"]["limits"]["memory"]


def test_work_is_left_to_workers_which_nobody_is_sent_to():
    told, made = compose(), manifests()
    assert literals()["RAG_APP_QUEUES"] == "none"
    worker, app = made["WorkerDeployment"]["spec"], made["Deployment"]["spec"]
    apps = made["Service"]["spec"]["selector"].items()
    assert not apps <= worker["template"]["metadata"]["labels"].items()
    assert worker["selector"]["matchLabels"] == worker["template"]["metadata"]["labels"]
    [one] = worker["template"]["spec"]["containers"]
    commands = [one["command"]]
    for name in WORKERS:
        service = told["services"][name]
        assert service["environment"]["RAG_APP_QUEUES"] == "none"  # a worker has its own
        assert service["networks"] == ["back"] and service["volumes"] == [f"{name}:/data"]
        commands.append(service["command"])
    for command in commands:
        assert command[0] == ".venv/bin/rag-app"
        asked = parser().parse_args(command[1:])
        assert asked.run.__module__ == "rag_app.cli.server_commands"
        assert str(asked.port) == PORT and asked.queues is None  # all
    pod = worker["template"]["spec"]
    assert pod["volumes"][-1] == app["template"]["spec"]["volumes"][-1]
    assert pod["securityContext"] == app["template"]["spec"]["securityContext"]
    assert one["securityContext"] == container()["securityContext"]
    assert one["startupProbe"]["httpGet"]["path"] == health.READY
    assert one["livenessProbe"]["httpGet"]["path"] == health.LIVE
    drains = float(literals()["RAG_APP_DRAIN_SECONDS"])
    assert pod["terminationGracePeriodSeconds"] >= drains + 30
    scaled = made["WorkerHorizontalPodAutoscaler"]["spec"]
    assert scaled["scaleTargetRef"]["name"] == made["WorkerDeployment"]["metadata"]["name"]
    assert scaled["minReplicas"] == worker["replicas"] == 2
