"""Makes the wheel with the programs from the wheel of the Python client: pip puts them into bin/, their manual pages
into share/man. The same input gives the same bytes.

usage: make_platform_wheel.py --client CLIENT.whl --installed PREFIX --bill DIR --readme FILE --torch VERSION --tag TAG
                              --output DIR

PREFIX has bin/ and share/man/man1/ as `cmake --install` writes them, with a dttrain-2.N for each version of PyTorch
that the wheel supports; the bill's DIR is that of tools/bill.py. VERSION is that of the dtrain-libtorch that goes with
it.
"""

import argparse
import pathlib
import re
import sys
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_wheel  # noqa: E402

PROGRAM = re.compile(r"dtcoord|dtctl|dtprogram|dtworker|dttrain(-\d+\.\d+(-cuda)?)?$")


def minors(names: list[str]) -> list[tuple[int, int]]:
    """Returns the versions of PyTorch that trainers with these names support, in ascending order."""
    matches = [re.fullmatch(r"dttrain-(\d+)\.(\d+)", name) for name in names]
    return sorted((int(match[1]), int(match[2])) for match in matches if match)


def requirement(versions: list[tuple[int, int]]) -> str:
    """Returns pip's requirement of one of these minor versions. No trainer starts with another."""
    (major, first), (_, last) = versions[0], versions[-1]
    if first == last:
        return f"torch=={major}.{first}.*"
    holes = "".join(f",!={major}.{minor}.*" for minor in range(first, last) if (major, minor) not in versions)
    return f"torch>={major}.{first},<{major}.{last + 1}{holes}"


def described(metadata: str, readme: str, torch: str, names: list[str]) -> str:
    """Returns the client's metadata with what the programs add, and the long description."""
    lines = metadata.rstrip("\n").split("\n")
    main = tuple(int(number) for number in torch.split(".")[:2])
    needs = {"train": requirement(minors(names) or [main]), "cpu": f"dtrain-libtorch=={main[0]}.{main[1]}.*"}
    for extra, need in needs.items():
        lines += [f"Provides-Extra: {extra}", f"Requires-Dist: {need}; extra == '{extra}'"]
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
    programs = [path for path in sorted((arguments.installed / "bin").iterdir()) if PROGRAM.fullmatch(path.name)]
    files[f"{info}/METADATA"] = described(client, arguments.readme.read_text(), arguments.torch,
                                          [path.name for path in programs]).encode()
    files[f"{info}/sboms/dtrain.cdx.json"] = (arguments.bill / "dtrain.cdx.json").read_bytes()
    for licence in sorted((arguments.bill / "licences").iterdir()):
        files[f"{info}/licenses/{licence.name}"] = licence.read_bytes()
    for program in programs:
        files[f"{stem}.data/scripts/{program.name}"] = program.read_bytes()
        page = arguments.installed / "share/man/man1" / f"{program.name}.1.gz"
        if page.exists():
            files[f"{stem}.data/data/share/man/man1/{page.name}"] = page.read_bytes()
    print(make_wheel.write(arguments.output, stem, arguments.tag, files, "make_platform_wheel", level=9))


if __name__ == "__main__":
    main()
