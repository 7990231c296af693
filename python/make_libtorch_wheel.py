"""Makes the wheel dtrain-libtorch: LibTorch for CPUs alone, for hosts that train with dtrain's own trainer and have no
other use for PyTorch. It is a twentieth of what `pip install torch` fetches. The same input gives the same bytes.

usage: make_libtorch_wheel.py --libtorch DIR --tag TAG --output DIR

DIR is that of `./dev setup`: torch/, nvidia/ and their dist-info folders. libtorch_cpu.so is stripped, the other
libraries are as they are. They are in dtrain_libtorch/, where dttrain looks for them, and not in torch/, which is
PyTorch's.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_wheel  # noqa: E402

# By version.py dttrain knows which of its trainers goes with the libraries.
LIBRARIES = ["torch/version.py", "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so", "torch/lib/libgomp*.so*",
             "nvidia/*/lib/libcudart.so*", "nvidia/*/lib/libcupti.so*"]


def stripped(library: pathlib.Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / library.name
        subprocess.run(["strip", "--strip-unneeded", "-o", copy, library], check=True)
        return copy.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libtorch", type=pathlib.Path, required=True)
    parser.add_argument("--tag", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    version = next(arguments.libtorch.glob("torch-*.dist-info")).name.split("-")[1].removesuffix(".dist")
    stem = f"dtrain_libtorch-{version}"
    info = f"{stem}.dist-info"
    files = {"dtrain_libtorch/__init__.py": b'"""LibTorch for dttrain. Nothing to import."""\n'}
    for pattern in LIBRARIES:
        libraries = sorted(arguments.libtorch.glob(pattern))
        # A LibTorch for CPUs alone needs nothing of nvidia/.
        if not libraries and not pattern.startswith("nvidia/"):
            raise SystemExit(f"error: {arguments.libtorch} has no {pattern}; ./dev setup makes such a folder")
        for library in libraries:
            heavy = library.name == "libtorch_cpu.so"
            files[f"dtrain_libtorch/{library.relative_to(arguments.libtorch)}"] = (
                stripped(library) if heavy else library.read_bytes())
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: dtrain-libtorch\nVersion: {version}\n"
                                 "Summary: LibTorch for CPUs, for dtrain's trainer\n").encode()
    for licence in sorted(arguments.libtorch.glob("*.dist-info/licenses/*")):
        package = licence.parent.parent.name.split("-")[0]
        files[f"{info}/licenses/{package}/{licence.name}"] = licence.read_bytes()
    print(make_wheel.write(arguments.output, stem, arguments.tag, files, "make_libtorch_wheel"))


if __name__ == "__main__":
    main()
