"""Compiles softmax_rows.cu to PTX, as softmax_rows.ptx.inc: so that a build needs no CUDA compiler.

usage: make_ptx.py [NVCC]    then commit what it wrote; any GPU since compute capability 8.0 takes it
       make_ptx.py --check   whether the file here was made of the sources here
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = ["softmax_rows_kernel.inc", "softmax_rows.cu"]
OUTPUT = HERE / "softmax_rows.ptx.inc"


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def with_mark(body: str) -> str:
    """The file of this text: what it was made of, and its own hash, so that a change by hand shows."""
    sources = sha256(b"".join((HERE / name).read_bytes() for name in SOURCES))
    return (f"// Made by make_ptx.py of sources with sha256 {sources}.\n"
            f"// The rest has sha256 {sha256(body.encode('ascii'))}.\n{body}")


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        found = OUTPUT.read_text(encoding="ascii")
        if found == with_mark("".join(found.splitlines(keepends=True)[2:])):
            return 0
        print(f"{OUTPUT.name} was made of other sources, or changed: run worker/trainer/device/cuda/make_ptx.py",
              file=sys.stderr)
        return 1
    nvcc = sys.argv[1] if len(sys.argv) > 1 else "nvcc"
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder) / "kernel.ptx"
        subprocess.run([nvcc, "-ptx", "-arch=compute_80", "-O3", "-o", str(ptx), SOURCES[1]], check=True, cwd=HERE)
        lines = [line.strip() for line in ptx.read_text(encoding="ascii").splitlines()]
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    OUTPUT.write_text(with_mark(f'R"PTX({text}\n)PTX"\n'), encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
