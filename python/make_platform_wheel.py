"""Makes the wheel with the programs from the wheel of the Python client: pip puts them into bin/, their manual pages
into share/man. The same input gives the same bytes.

usage: make_platform_wheel.py --client CLIENT.whl --installed PREFIX --bill DIR --readme FILE --torch VERSION --tag TAG
                              --output DIR

PREFIX has bin/ and share/man/man1/ as `cmake --install` writes them; the bill's DIR is that of tools/bill.py. VERSION
is that of the LibTorch for which the trainer was compiled.
"""

import argparse
import pathlib
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_wheel  # noqa: E402

PROGRAMS = ["dtcoord", "dtctl", "dtprogram", "dttrain", "dttrain-cuda", "dtworker"]
EXTRAS = {"train": "torch", "cpu": "dtrain-libtorch"}


def described(metadata: str, readme: str, torch: str) -> str:
    """Returns the client's metadata with what the programs add, and the long description."""
    lines = metadata.rstrip("\n").split("\n")
    # The trainer starts with no LibTorch of another minor version.
    minor = ".".join(torch.split(".")[:2])
    for extra, need in EXTRAS.items():
        lines += [f"Provides-Extra: {extra}", f"Requires-Dist: {need}=={minor}.*; extra == '{extra}'"]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", readme])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("client", "installed", "bill", "readme", "output"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("torch", "tag"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.client) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if not name.endswith("/RECORD")}
    info = next(name for name in files if name.endswith("/WHEEL")).split("/")[0]
    stem = info.removesuffix(".dist-info")
    client = files[f"{info}/METADATA"].decode()
    files[f"{info}/METADATA"] = described(client, arguments.readme.read_text(), arguments.torch).encode()
    files[f"{info}/sboms/dtrain.cdx.json"] = (arguments.bill / "dtrain.cdx.json").read_bytes()
    for licence in sorted((arguments.bill / "licences").iterdir()):
        files[f"{info}/licenses/{licence.name}"] = licence.read_bytes()
    programs = [arguments.installed / "bin" / name for name in PROGRAMS]
    for program in filter(pathlib.Path.exists, programs):
        files[f"{stem}.data/scripts/{program.name}"] = program.read_bytes()
        page = arguments.installed / "share/man/man1" / f"{program.name}.1.gz"
        if page.exists():
            files[f"{stem}.data/data/share/man/man1/{page.name}"] = page.read_bytes()
    print(make_wheel.write(arguments.output, stem, arguments.tag, files, "make_platform_wheel", level=9))


if __name__ == "__main__":
    main()
