"""deploy/kubernetes renders, agrees with the published schemas of Kubernetes, and does what its manual promises.

usage: kubernetes_test.py WHEELS_FOLDER     exits 77 with the reason if there is no kubectl, or no kubernetes-validate
in WHEELS_FOLDER (./dev setup fetches it if it can) or in this Python
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77
sys.path.insert(0, sys.argv[1] if len(sys.argv) > 1 else "")
try:
    import kubernetes_validate
    import yaml
except ImportError as lacks:
    print(f"skipped: {lacks}; ./dev setup --kubernetes")
    sys.exit(SKIPPED)
import containerfile  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "deploy/kubernetes"
OVERLAYS = ("overlays/one-node", "overlays/gpu")
# The oldest and the newest versions in the validator's schemas.
VERSIONS = ("1.25", kubernetes_validate.latest_version())


def rendered(place: str) -> list[dict]:
    done = subprocess.run(["kubectl", "kustomize", str(FOLDER / place)], capture_output=True, text=True, timeout=60,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"kubectl kustomize {place}: {done.stderr}")
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def of_kind(documents: list[dict], kind: str) -> list[dict]:
    return [document for document in documents if document["kind"] == kind]


def selects(selector: dict, labels: dict) -> bool:
    return all(labels.get(key) == value for key, value in selector.items())


class Kubernetes(unittest.TestCase):
    def test_every_overlay_agrees_with_the_schemas(self):
        for place in OVERLAYS:
            for document in rendered(place):
                for version in VERSIONS:
                    with self.subTest(place=place, kind=document["kind"], version=version):
                        kubernetes_validate.validate(document, version, strict=True)

    def test_a_misspelt_field_would_be_found(self):
        service = of_kind(rendered("overlays/gpu"), "Service")[0]
        service["spec"]["port"] = []
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(service, VERSIONS[-1], strict=True)

    def test_all_of_an_overlay_is_in_one_namespace_and_no_name_is_twice(self):
        for place in OVERLAYS:
            documents = rendered(place)
            names = [(document["kind"], document["metadata"]["name"]) for document in documents]
            self.assertEqual(len(names), len(set(names)), names)
            self.assertEqual({document["metadata"]["namespace"] for document in documents}, {"dtrain"})

    def test_pods_run_unprivileged_and_write_only_to_volumes(self):
        for place in OVERLAYS:
            for workload in of_kind(rendered(place), "StatefulSet"):
                pod = workload["spec"]["template"]["spec"]
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertEqual(pod["securityContext"]["runAsUser"], 7600, "as in the images")
                self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertFalse(pod["automountServiceAccountToken"])
                for container in pod["containers"]:
                    security = container["securityContext"]
                    self.assertFalse(security["allowPrivilegeEscalation"])
                    self.assertTrue(security["readOnlyRootFilesystem"])
                    self.assertEqual(security["capabilities"], {"drop": ["ALL"]})
                    self.assertIn("memory", container["resources"]["limits"])

    def test_the_coordinator_is_probed_and_keeps_its_journal(self):
        for place in OVERLAYS:
            (coordinator,) = [one for one in of_kind(rendered(place), "StatefulSet")
                              if one["metadata"]["name"] == "dtrain-coordinator"]
            self.assertEqual(coordinator["spec"]["replicas"], 1)
            (container,) = coordinator["spec"]["template"]["spec"]["containers"]
            self.assertEqual(container["livenessProbe"]["httpGet"]["path"], "/healthz")
            self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/readyz")
            self.assertEqual(container["startupProbe"]["httpGet"]["path"], "/readyz")
            (claim,) = coordinator["spec"]["volumeClaimTemplates"]
            mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
            self.assertEqual(mounted[claim["metadata"]["name"]], "/var/lib/dtrain")

    def test_roles_count_and_one_certificate_is_for_all_workers(self):
        for place in OVERLAYS:
            for one in of_kind(rendered(place), "StatefulSet"):
                (container,) = one["spec"]["template"]["spec"]["containers"]
                if container["name"] == "coordinator":
                    self.assertIn("--auth=tokens", container["args"])
                    token = {each["name"]: each.get("value") for each in container["env"]}["DTRAIN_TOKEN_FILE"]
                    self.assertIn(token, [f"{mount['mountPath']}/admin.token" for mount in container["volumeMounts"]])
                else:
                    self.assertIn("--name=fleet/$(POD_NAME)", container["args"])

    def test_a_worker_has_time_to_save_and_finds_its_coordinator(self):
        for place, count in zip(OVERLAYS, (1, 2)):
            documents = rendered(place)
            services = {service["metadata"]["name"] for service in of_kind(documents, "Service")}
            workers = [one for one in of_kind(documents, "StatefulSet")
                       if one["metadata"]["name"] != "dtrain-coordinator"]
            self.assertEqual(len(workers), count)
            for worker in workers:
                spec = worker["spec"]["template"]["spec"]
                self.assertGreater(spec["terminationGracePeriodSeconds"], 150)
                self.assertIn(worker["spec"]["serviceName"], services)
                self.assertIn("--coordinator=dtrain-coordinator:7600", spec["containers"][0]["args"])
                self.assertTrue(selects(worker["spec"]["selector"]["matchLabels"],
                                        worker["spec"]["template"]["metadata"]["labels"]))
            self.assertIn("dtrain-coordinator", services)

    def test_each_worker_is_probed_by_a_file_that_its_image_has_it_touch_in_a_volume(self):
        image = containerfile.stages()["worker"]
        for place in OVERLAYS:
            for one in of_kind(rendered(place), "StatefulSet"):
                (container,) = one["spec"]["template"]["spec"]["containers"]
                if container["name"] == "worker":
                    self.assertEqual(container["livenessProbe"]["exec"]["command"], image.health_check())
                    mounted = [mount["mountPath"] for mount in container["volumeMounts"]]
                    self.assertIn(str(pathlib.Path(image.word_after("--alive-file")).parent), mounted)

    def test_no_two_kinds_of_workers_select_the_same_pods(self):
        workers = [one for one in of_kind(rendered("overlays/gpu"), "StatefulSet")
                   if one["metadata"]["name"] != "dtrain-coordinator"]
        for one in workers:
            chosen = [other["metadata"]["name"] for other in workers
                      if selects(one["spec"]["selector"]["matchLabels"],
                                 other["spec"]["template"]["metadata"]["labels"])]
            self.assertEqual(chosen, [one["metadata"]["name"]])

    def test_only_named_senders_may_connect(self):
        for place in OVERLAYS:
            documents = rendered(place)
            policies = of_kind(documents, "NetworkPolicy")
            pods = [one["spec"]["template"]["metadata"]["labels"] for one in of_kind(documents, "StatefulSet")]
            closed = [policy for policy in policies if "ingress" not in policy["spec"]]
            for labels in pods:
                self.assertTrue(any(selects(policy["spec"]["podSelector"]["matchLabels"], labels) for policy in closed))
            # Every rule names its senders: an empty list would allow all.
            for policy in policies:
                for rule in policy["spec"].get("ingress", []):
                    self.assertTrue(rule["from"])

    def test_options_are_those_of_the_programs(self):
        programs = pathlib.Path(sys.argv[2])
        for workload in of_kind(rendered("overlays/gpu"), "StatefulSet"):
            (container,) = workload["spec"]["template"]["spec"]["containers"]
            program = "dtcoord" if container["name"] == "coordinator" else "dtworker"
            told = subprocess.run([programs / program, "--help"], capture_output=True, text=True, timeout=30,
                                  check=True).stdout
            for argument in container["args"]:
                self.assertRegex(told, rf"(?m)\s{re.escape(argument.split('=')[0])}\b")

    def test_the_monitor_finds_the_coordinators_port_under_the_alerts_job(self):
        (monitor,) = rendered("monitoring")
        (coordinator,) = [one for one in of_kind(rendered("overlays/gpu"), "StatefulSet")
                          if one["metadata"]["name"] == "dtrain-coordinator"]
        template = coordinator["spec"]["template"]
        self.assertTrue(selects(monitor["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]))
        ports = {port["name"] for port in template["spec"]["containers"][0]["ports"]}
        self.assertIn(monitor["spec"]["podMetricsEndpoints"][0]["port"], ports)
        self.assertEqual(template["metadata"]["labels"][monitor["spec"]["jobLabel"]], "dtrain")
        self.assertIn('job="dtrain"', (ROOT / "deploy/prometheus/rules.yml").read_text())


if __name__ == "__main__":
    if shutil.which("kubectl") is None:
        print("skipped: there is no kubectl; ./dev setup --kubernetes")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
