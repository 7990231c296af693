"""Makes the wheel's own Python package importable: an interpreter and the environment to start it with.

The LibTorch that the trainer links is the torch wheel's headers and libraries. The Python files of the same wheel,
which ./dev setup keeps, are unpacked beside links to those, so the peer runs exactly the same kernels. The package's
other requirements go once into a virtual environment in the cache.

usage: python_torch.py LIBTORCH CACHE, which makes them, for tests of programs that import torch
"""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import stand_ins

# The requirements in torch's METADATA other than CUDA; numpy avoids a warning.
REQUIREMENTS = ["filelock", "typing-extensions>=4.10", "setuptools<82", "sympy>=1.13.3", "networkx>=2.5.1",
                "jinja2", "fsspec", "numpy"]


class Absent(Exception):
    """Raised with the reason why Python has no PyTorch here, and the fix."""


def cache_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "dtrain"


def _python311() -> str:
    for name in ("python3.11", "python3"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "-c", "import sys; print(sys.version_info[:2] == (3, 11))"],
                                 capture_output=True, text=True, check=False)
        if version.stdout.strip() == "True":
            return path
    raise Absent("no python3.11, which the torch wheel in the cache is made for; install it (Debian 12: "
                 "apt-get install python3 python3-venv python3-dev)")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Absent(f"{' '.join(command)} failed:\n{done.stderr.strip()[-2000:]}")


def _package(libtorch: pathlib.Path, cache: pathlib.Path) -> pathlib.Path:
    """Returns a folder with the Python package torch of the wheel that `libtorch` was unpacked from; made only once."""
    if (libtorch / "torch/__init__.py").exists():
        return libtorch
    version = (libtorch / "torch/version.py").read_text(encoding="utf-8")
    number = version.split("__version__ = '")[1].split("'")[0].split("+")[0]
    wheels = sorted((cache / "wheels").glob(f"torch-{number}-cp311-*.whl"))
    if not wheels:
        raise Absent(f"{cache / 'wheels'} has no wheel torch-{number}-cp311, whose Python files the peer runs; "
                     f"remove {libtorch}, and ./dev setup fetches it again")
    package = cache / f"bench-torch-{number}"
    if not package.exists():
        print(f"unpacking the Python files of {wheels[-1].name} into {package} (once)", file=sys.stderr)
        staging = package.with_suffix(f".{os.getpid()}")
        linked = ("torch/include/", "torch/lib/")
        with zipfile.ZipFile(wheels[-1]) as archive:
            archive.extractall(staging, [name for name in archive.namelist() if not name.startswith(linked)])
        for name in ("torch/include", "torch/lib", "nvidia"):
            (staging / name).symlink_to(libtorch / name)
        staging.rename(package)
    return package


def _imports(libtorch: pathlib.Path) -> bool:
    """Returns whether this interpreter imports the torch of that folder as it is, and sees a GPU."""
    asked = subprocess.run([sys.executable, "-c", "import torch; print(torch.__file__, torch.cuda.is_available())"],
                           capture_output=True, text=True, check=False)
    words = asked.stdout.split()
    return len(words) == 2 and words[1] == "True" and pathlib.Path(words[0]).samefile(libtorch / "torch/__init__.py")


def environment(libtorch: pathlib.Path, cache: pathlib.Path, same_mkl: bool, device: str) -> tuple[str, dict[str, str]]:
    """Returns the interpreter and its environment, made in `cache` if absent. Raises Absent.

    `same_mkl`: makes MKL choose by the processor and not by its maker, as dttrain does. With `device` cuda, uses
    python3 itself if the torch that it imports is the one that dttrain links.
    """
    if device == "cuda":
        if _imports(libtorch):
            return sys.executable, {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache / "bench-inductor")}
        raise Absent(f"python3 does not import the torch in {libtorch}, or it sees no GPU; dttrain has to link the "
                     "torch that python3 imports, as ./dev bench training_bench --device cuda builds it")
    if shutil.which("g++") is None:
        raise Absent("no g++, which torch.compile needs on a CPU")
    package = _package(libtorch, cache)
    venv = cache / "bench-python"
    made = venv / ".made"
    if not made.exists():
        print(f"making {venv} (once)", file=sys.stderr)
        shutil.rmtree(venv, ignore_errors=True)
        _run(_python311(), "-m", "venv", str(venv))
        _run(str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *REQUIREMENTS)
        stand_ins.make(libtorch, venv / "stand-ins")
        answer = venv / "mkl_answer.c"
        answer.write_text("int mkl_serv_intel_cpu_true(void) { return 1; }\n")
        _run("gcc", "-shared", "-fPIC", "-O1", "-o", str(answer.with_suffix(".so")), str(answer))
        made.touch()
    variables = dict(os.environ)
    variables.update({
        "PYTHONPATH": str(package),
        "LD_LIBRARY_PATH": str(venv / "stand-ins"),
        "CUDA_VISIBLE_DEVICES": "",
        "TORCHINDUCTOR_CACHE_DIR": str(cache / "bench-inductor"),
        "PYTHONPYCACHEPREFIX": str(cache / "bench-bytecode"),
    })
    variables.pop("PYTHONDONTWRITEBYTECODE", None)  # else a rank compiles torch's Python each time, for seconds
    if same_mkl:
        variables["LD_PRELOAD"] = str(venv / "mkl_answer.so")
    python = str(venv / "bin/python")
    tried = subprocess.run([python, "-c", "import torch"], env=variables, capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise Absent(f"the wheel's Python package does not start; remove {venv} to make it anew:\n"
                     f"{tried.stderr[-2000:]}")
    return python, variables


if __name__ == "__main__":
    try:
        environment(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), same_mkl=False, device="cpu")
    except Absent as absent:
        sys.exit(str(absent))
