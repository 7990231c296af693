"""Looks at the Debian packages of this build: contents, dependencies, effects on a host. Installs nothing.

usage: packages_test.py BUILD_DIR     exits 77 with the reason if packages cannot be made

Looks at the trainer in the form in which it would be installed, unpacked: packing LibTorch takes longer than all the
rest. house_test.py installs all packages and runs lintian on them.
"""

import functools
import gzip
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import debian_root  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
SECONDS = 120
SERVICES = {
    "coordinator": ["usr/bin/dtcoord", "usr/lib/systemd/system/dtcoord.service", "usr/share/man/man1/dtcoord.1.gz"],
    "worker": ["usr/bin/dtprogram", "usr/bin/dtworker", "usr/lib/systemd/system/dtworker.target",
               "usr/lib/systemd/system/dtworker@.service", "usr/share/man/man1/dtprogram.1.gz",
               "usr/share/man/man1/dtworker.1.gz"],
}
output = functools.partial(debian_root.run, seconds=SECONDS)


class Packages(unittest.TestCase):
    build: pathlib.Path

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dtrain-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        output("cpack", "-B", cls.path, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", "-D",
               "CPACK_COMPONENTS_ALL=coordinator;worker;cli;dashboards", cwd=cls.build)
        cls.debs = {deb.name.split("_")[0].removeprefix("dtrain-"): deb for deb in cls.path.glob("*.deb")}
        for name, deb in cls.debs.items():
            output("dpkg-deb", "-R", deb, cls.path / name)

    def field(self, package: str, name: str) -> str:
        return output("dpkg-deb", "-f", self.debs[package], name).strip()

    def files(self, package: str) -> list[str]:
        folder = self.path / package
        return sorted(str(file.relative_to(folder)) for file in folder.rglob("*")
                      if file.is_file() and "DEBIAN" not in file.parts)

    def text(self, package: str, file: str) -> str:
        data = (self.path / package / file).read_bytes()
        return (gzip.decompress(data) if file.endswith(".gz") else data).decode()

    def test_each_service_has_its_program_unit_settings_account_and_manual_and_nothing_else(self):
        self.assertEqual(sorted(self.debs), ["cli", "coordinator", "dashboards", "worker"])
        for package, own in SERVICES.items():
            shared = [f"etc/dtrain/{package}.env", f"usr/lib/sysusers.d/dtrain-{package}.conf",
                      f"usr/lib/tmpfiles.d/dtrain-{package}.conf", f"usr/share/lintian/overrides/dtrain-{package}"]
            documents = [f"usr/share/doc/dtrain-{package}/{name}"
                         for name in ("changelog.Debian.gz", "changelog.gz", "copyright")]
            self.assertEqual(self.files(package), sorted(own + shared + documents))
            self.assertEqual(self.text(package, "DEBIAN/conffiles"), f"/etc/dtrain/{package}.env\n")
            for script in ("postinst", "prerm", "postrm"):
                file = self.path / package / "DEBIAN" / script
                self.assertTrue(file.stat().st_mode & 0o111, file)
                output("sh", "-n", file)
                self.assertNotRegex(file.read_text(), r"@\w+@|\benable\b")

    def test_units_name_the_programs_where_the_package_has_them(self):
        for package, unit in (("coordinator", "dtcoord.service"), ("worker", "dtworker@.service")):
            text = self.text(package, f"usr/lib/systemd/system/{unit}")
            program = re.search(r"^ExecStart=/(\S+)", text, re.MULTILINE)[1]
            self.assertIn(program, self.files(package))
            self.assertNotRegex(text, r"@[A-Z_]+@")
            self.assertRegex(text, r"(?m)^Documentation=man:dt\w+\(1\)$")

    def test_a_coordinator_that_somebody_fills_with_headers_takes_half_of_the_host_at_most(self):
        text = self.text("coordinator", "usr/lib/systemd/system/dtcoord.service")
        self.assertRegex(text, r"(?m)^MemoryMax=50%$")
        self.assertRegex(text, r"(?m)^Restart=always$")

    def test_workers_run_as_another_account_than_the_coordinator_and_outside_of_its_group(self):
        accounts = {}
        for package, unit in (("coordinator", "dtcoord.service"), ("worker", "dtworker@.service")):
            text = self.text(package, f"usr/lib/systemd/system/{unit}")
            user, group = (re.search(rf"(?m)^{word}=(.+)$", text)[1] for word in ("User", "Group"))
            self.assertEqual(user, group)
            lines = self.text(package, f"usr/lib/sysusers.d/dtrain-{package}.conf").splitlines()
            words = [line.split() for line in lines if not line.startswith("#")]
            self.assertEqual([line[1] for line in words if line[0] == "u"], [user])
            self.assertIn(["m", user, "dtrain-settings"], words)
            accounts[package] = (user, {line[2] for line in words if line[0] == "m"})
        self.assertNotEqual(accounts["coordinator"][0], accounts["worker"][0])
        self.assertNotIn(accounts["coordinator"][0], accounts["worker"][1])
        for package, hands_over in (("coordinator", False), ("worker", True)):
            self.assertEqual("chown" in self.text(package, "DEBIAN/postinst"), hands_over)

    def test_settings_as_shipped_change_nothing(self):
        for package, variable in (("coordinator", "DTCOORD_FLAGS"), ("worker", "DTWORKER_FLAGS")):
            lines = self.text(package, f"etc/dtrain/{package}.env").splitlines()
            self.assertEqual([line for line in lines if not line.startswith("#")], [f"{variable}="])

    def test_dependencies_are_those_of_the_libraries_and_libtorch_is_the_trainers_alone(self):
        for package in ("coordinator", "worker", "cli"):
            needed = self.field(package, "Depends")
            for library in ("libc6", "libgrpc++1.51", "libprotobuf32", "libabsl20220623"):
                self.assertIn(library, needed)
            self.assertNotIn("torch", needed.replace("dtrain-trainer", ""))
            self.assertEqual("systemd-sysusers" in needed, package != "cli")
        version = self.field("worker", "Version")
        self.assertIn(f"dtrain-trainer (= {version})", self.field("worker", "Depends"))
        self.assertNotIn("dtrain-", self.field("coordinator", "Depends"))
        self.assertIn("python3:any", self.field("cli", "Depends"))
        self.assertEqual((self.field("dashboards", "Architecture"), self.field("dashboards", "Depends")), ("all", ""))

    def test_programs_are_stripped_and_know_no_path_of_this_machine(self):
        for package, programs in (("coordinator", ["dtcoord"]), ("worker", ["dtworker", "dtprogram"]),
                                  ("cli", ["dtctl"])):
            for program in programs:
                file = self.path / package / "usr/bin" / program
                self.assertNotIn("not stripped", output("file", file))
                self.assertNotRegex(output("readelf", "-d", file), "RPATH|RUNPATH")

    def test_every_option_of_a_program_is_in_its_manual_page(self):
        pages = {"dtctl": "cli", "dtcoord": "coordinator", "dtworker": "worker", "dtprogram": "worker"}
        for program, package in pages.items():
            page = self.text(package, f"usr/share/man/man1/{program}.1.gz").replace("\\-", "-")
            self.assertTrue(page.startswith(f".TH {program.upper()} 1 "))
            self.assertNotIn(str(pathlib.Path.home()) + "/", page)
            words = [[]]
            if program == "dtctl":
                words += [["submit"], ["get", "trials"], ["worker", "drain"], ["checkpoint", "export"]]
            for command in words:
                listed = output(self.path / package / "usr/bin" / program, *command, "--help")
                for option in set(re.findall(r"(?m)^ +(?:-\w, ?)?(--[a-z-]+)", listed)):
                    self.assertIn(option, page, f"{program} {' '.join(command)}")

    def test_completions_are_in_each_shells_folder(self):
        for shell, file in (("bash", "bash-completion/completions/dtctl"), ("zsh", "zsh/vendor-completions/_dtctl"),
                            ("fish", "fish/vendor_completions.d/dtctl.fish")):
            script = output(self.path / "cli/usr/bin/dtctl", "completion", shell)
            self.assertIn("__complete", script)
            self.assertEqual(self.text("cli", f"usr/share/{file}"), script)

    def test_manual_examples_and_dashboards_come_along(self):
        manual = {file.relative_to(ROOT / "docs") for file in (ROOT / "docs").rglob("*.md")}
        documents = "usr/share/doc/dtrain-cli"
        installed = self.path / "cli" / documents / "manual"
        self.assertEqual({file.relative_to(installed) for file in installed.rglob("*.md")}, manual)
        self.assertIn(f"{documents}/examples/quickstart.yaml", self.files("cli"))
        for file in ("prometheus/prometheus.yml", "prometheus/rules.yml", "grafana/dashboards/dtrain.json",
                     "grafana/provisioning/datasources/dtrain.yml"):
            self.assertEqual(self.text("dashboards", f"usr/share/dtrain/{file}"), (ROOT / "deploy" / file).read_text())

    def test_each_override_of_lintian_says_why(self):
        for package in self.debs:
            lines = self.text(package, f"usr/share/lintian/overrides/dtrain-{package}").splitlines()
            for before, line in zip(["", *lines], lines):
                if line and not line.startswith("#"):
                    self.assertTrue(before.startswith("# "), f"{package}: {line}")

    def test_the_installed_trainer_finds_libtorch_beside_it(self):
        if not (self.build / "bin/dttrain").exists():
            self.skipTest("this build has no trainer")
        output("cmake", "--install", self.build, "--component", "trainer", "--prefix", self.path / "usr")
        trainer = self.path / "usr/bin/dttrain"
        runpath = re.findall(r"R(?:UN)?PATH.*\[(.*)\]", output("readelf", "-d", trainer))
        self.assertEqual(runpath, ["$ORIGIN/../lib/dtrain/torch/lib"])
        found = re.findall(r"(\S+) => (\S+)", output("ldd", trainer))
        folder = str((self.path / "usr/lib/dtrain").resolve())
        bundled = {name for name, place in found if str(pathlib.Path(place).resolve()).startswith(folder)}
        self.assertLessEqual({"libtorch_cpu.so", "libc10.so"}, bundled)
        self.assertFalse([place for _, place in found if "/.cache/" in place])
        self.assertIn("dttrain", output(trainer, "--version"))


if __name__ == "__main__":
    Packages.build = pathlib.Path(sys.argv.pop(1)).resolve()
    for needed in ("cpack", "dpkg-shlibdeps", "file", "readelf"):
        if shutil.which(needed) is None:
            print(f"skipped: no {needed}; ./dev setup installs dpkg-dev, file and binutils")
            sys.exit(SKIPPED)
    unittest.main()
