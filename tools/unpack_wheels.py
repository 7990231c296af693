"""Unpacks the pinned wheels that a build needs: headers, libraries and licences, no Python.

usage: unpack_wheels.py WHEELS_DIR OUT_DIR REQUIREMENTS…

Each wheel's hash is checked once more, since the cache may be older than the pins. OUT_DIR gets torch/ and nvidia/ as
the wheels lay them out, since the libraries find each other by relative paths.
"""

import hashlib
import pathlib
import re
import sys
import zipfile

PIN = re.compile(r"^(?P<name>[\w-]+)==(?P<version>[\w.]+) --hash=sha256:(?P<digest>[0-9a-f]{64})$")
# The parts of torch for compiling and linking; the other wheels are unpacked completely.
TORCH_PARTS = ("torch/include/", "torch/lib/", "torch/version.py")


def wanted(name: str) -> bool:
    if ".dist-info/" in name:
        return "METADATA" in name or "LICENSE" in name.upper()
    if name.startswith("torch/"):
        return name.startswith(TORCH_PARTS)
    return name.startswith("nvidia/")


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def find_wheel(folder: pathlib.Path, pin: re.Match) -> pathlib.Path:
    pattern = f"{pin['name'].replace('-', '_')}-{pin['version']}-*.whl"
    for path in sorted(folder.glob(pattern)):
        if sha256(path) == pin["digest"]:
            return path
    sys.exit(f"error: no {pattern} with the pinned hash in {folder}; remove what is there and try again")


def main() -> None:
    wheels, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for requirements in sys.argv[3:]:
        for line in pathlib.Path(requirements).read_text().splitlines():
            if not line or line.startswith("#"):
                continue
            pin = PIN.match(line)
            if not pin:
                sys.exit(f"error: {requirements}: not a pinned wheel: {line}")
            with zipfile.ZipFile(find_wheel(wheels, pin)) as archive:
                archive.extractall(out, [name for name in archive.namelist() if wanted(name)])


if __name__ == "__main__":
    main()
