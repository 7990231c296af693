"""Makes the wheel with the programs from the wheel of the Python client: pip puts them into bin/, their manual pages
into share/man. The same input gives the same bytes.

usage: make_platform_wheel.py --client CLIENT.whl --installed PREFIX --bill DIR --readme FILE --tag TAG --output DIR

PREFIX has bin/ and share/man/man1/ as `cmake --install` writes them; DIR is that of tools/bill.py.
"""

import argparse
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_wheel  # noqa: E402

PROGRAMS = ["dtcoord", "dtctl", "dtprogram", "dttrain", "dttrain-cuda", "dtworker"]
# The trainer was compiled for this LibTorch, and starts with no other.
EXTRAS = {"train": "torch==2.11.*", "cpu": "dtrain-libtorch==2.11.*"}


def described(metadata: str, readme: str) -> str:
    """Returns the client's metadata with what the programs add, and the long description."""
    lines = metadata.rstrip("\n").split("\n")
    for extra, need in EXTRAS.items():
        lines += [f"Provides-Extra: {extra}", f"Requires-Dist: {need}; extra == '{extra}'"]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("client", "installed", "bill", "readme", "output"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--tag", required=True)
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.client) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
    info = next(name for name in files if name.endswith("/WHEEL")).split("/")[0]
    stem = info.removesuffix(".dist-info")
    files[f"{info}/METADATA"] = described(files[f"{info}/METADATA"].decode(), arguments.readme.read_text()).encode()
    files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: make_platform_wheel\nRoot-Is-Purelib: false\n"
                              f"Tag: py3-none-{arguments.tag}\n").encode()
    files[f"{info}/sboms/dtrain.cdx.json"] = (arguments.bill / "dtrain.cdx.json").read_bytes()
    for licence in sorted((arguments.bill / "licences").iterdir()):
        files[f"{info}/licenses/{licence.name}"] = licence.read_bytes()
    programs = [arguments.installed / "bin" / name for name in PROGRAMS]
    for program in filter(pathlib.Path.exists, programs):
        files[f"{stem}.data/scripts/{program.name}"] = program.read_bytes()
        page = arguments.installed / "share/man/man1" / f"{program.name}.1.gz"
        if page.exists():
            files[f"{stem}.data/data/share/man/man1/{page.name}"] = page.read_bytes()
    files[f"{info}/RECORD"] = make_wheel.record(files, f"{info}/RECORD")
    arguments.output.mkdir(parents=True, exist_ok=True)
    wheel = arguments.output / f"{stem}-py3-none-{arguments.tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        # Installers read the metadata first, at the end of the file.
        for path in sorted(files, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(path, make_wheel.EARLIEST)
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if ".data/scripts/" in path else 0o100644) << 16
            archive.writestr(entry, files[path], zipfile.ZIP_DEFLATED, 9)
    print(wheel)


if __name__ == "__main__":
    main()
