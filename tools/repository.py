"""Makes a folder of Debian packages into a repository for apt, and signs it. Packages in the folder stay.

usage: repository.py --key KEY --output DIR [--url URL] FILE.deb…

KEY is a secret key as gpg names it. A web server, or file:, serves DIR as it is: the packages, the index (Packages),
its hashes (Release, signed as InRelease), the public key (dtrain.gpg) and what a host's /etc/apt/sources.list.d needs
(dtrain.sources). SOURCE_DATE_EPOCH, if set, is the date of Release.
"""

import argparse
import email.utils
import gzip
import hashlib
import os
import pathlib
import shutil
import subprocess
import time

INDICES = ("Packages", "Packages.gz")


def output(*command: str | pathlib.Path, folder: pathlib.Path) -> bytes:
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: {command[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def release(folder: pathlib.Path, architectures: list[str], seconds: float) -> str:
    """Returns the text of Release: a repository without components, with the hashes of its indices."""
    lines = ["Origin: dtrain", "Label: dtrain", "Suite: stable", "Codename: dtrain",
             f"Architectures: {' '.join(architectures)}", "Description: packages of dtrain",
             f"Date: {email.utils.formatdate(seconds, usegmt=True)}", "SHA256:"]
    for name in INDICES:
        data = (folder / name).read_bytes()
        lines.append(f" {hashlib.sha256(data).hexdigest()} {len(data):>16} {name}")
    return "\n".join(lines) + "\n"


def architectures_in(packages: str) -> list[str]:
    found = {line.split()[1] for line in packages.splitlines() if line.startswith("Architecture: ")}
    return sorted(found - {"all"}) or ["all"]


def make(folder: pathlib.Path, debs: list[pathlib.Path], key: str, url: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for deb in debs:
        # A host that reads the repository meanwhile sees no half of a file.
        partial = folder / f"{deb.name}.partial"
        shutil.copyfile(deb, partial)
        partial.replace(folder / deb.name)
    packages = output("dpkg-scanpackages", "--multiversion", ".", folder=folder)
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, mtime=0))
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    (folder / "Release").write_text(release(folder, architectures_in(packages.decode()), seconds))
    sign = ("gpg", "--batch", "--yes", "--local-user", key)
    output(*sign, "--clearsign", "--output", "InRelease", "Release", folder=folder)
    (folder / "dtrain.gpg").write_bytes(output("gpg", "--batch", "--export", "--", key, folder=folder))
    (folder / "dtrain.sources").write_text(f"Types: deb\nURIs: {url}\nSuites: ./\n"
                                           "Signed-By: /etc/apt/keyrings/dtrain.gpg\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--url", help="where hosts find DIR [file: and its path]")
    parser.add_argument("debs", nargs="+", type=pathlib.Path, metavar="FILE.deb")
    arguments = parser.parse_args()
    folder = arguments.output.resolve()
    make(folder, arguments.debs, arguments.key, arguments.url or f"file:{folder}")
    print(f"{folder}: {len(list(folder.glob('*.deb')))} packages, signed by {arguments.key}")


if __name__ == "__main__":
    main()
