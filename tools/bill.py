"""Writes the bill of materials of static programs, and the licences of what is linked into them.

usage: bill.py --version VERSION --libraries DIR --output DIR FILE.linked…

The files are those of link_statically.py --linked: the archives from which the linker took something. Writes
OUTPUT/dtrain.cdx.json (CycloneDX 1.6) and OUTPUT/licences/NAME. The same packages give the same bytes.
"""

import argparse
import json
import pathlib
import shutil
import subprocess

# The source packages of the archives that tools/static_libraries.sh makes.
MADE = {"libfmt.a": "fmtlib", "libspdlog.a": "spdlog", "libprometheus-cpp-core.a": "prometheus-cpp",
        "libcurl.a": "curl"}
# Used by their headers alone, so no archive names them.
HEADERS = ["libcli11-dev", "nlohmann-json3-dev"]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def owner(archive: str) -> str:
    """Returns the Debian package of a file. dpkg may know it by its path before /usr and / were merged."""
    for path in (archive, archive.removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "-S", path], capture_output=True, check=False, text=True)
        if done.returncode == 0:
            return done.stdout.split(": ")[0].split(",")[0].removesuffix(":amd64").removesuffix(":arm64")
    raise SystemExit(f"error: no package has {archive}, which is linked into a program")


def component(name: str, version: str) -> dict:
    escaped = version.replace("+", "%2B").replace(":", "%3A")
    return {"type": "library", "name": name, "version": version,
            "purl": f"pkg:deb/debian/{name}@{escaped}?arch=source&distro=debian-12"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", required=True)
    parser.add_argument("--libraries", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("linked", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    libraries = arguments.libraries.resolve()
    archives = sorted({line for file in arguments.linked for line in file.read_text().split()})
    made = {}  # source packages of tools/static_libraries.sh, and their versions
    for line in (libraries / "versions").read_text().split():
        name, version = line.split("=", 1)
        made[name] = version
    packages = set(HEADERS)
    versions, licences = {}, {}
    for archive in archives:
        if pathlib.Path(archive).is_relative_to(libraries):
            source = MADE.get(pathlib.Path(archive).name)
            if source is None:
                raise SystemExit(f"error: {archive} is linked into a program, but its source package is not in MADE "
                                 "of tools/bill.py")
            versions[source] = made[source]
            licences[source] = libraries / "licences" / source
        elif archive.startswith("/usr/lib/") or archive.startswith("/lib/"):
            packages.add(owner(archive))
    for package in sorted(packages):
        source, version = output("dpkg-query", "-W", "-f", "${source:Package} ${source:Version}", package).split()
        versions[source] = version
        licences[source] = pathlib.Path("/usr/share/doc") / package / "copyright"
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "licences").mkdir(exist_ok=True)
    for name, file in sorted(licences.items()):
        shutil.copyfile(file, arguments.output / "licences" / name)
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
            "metadata": {"component": {"type": "application", "name": "dtrain", "version": arguments.version}},
            "components": [component(name, version) for name, version in sorted(versions.items())]}
    (arguments.output / "dtrain.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")


if __name__ == "__main__":
    main()
