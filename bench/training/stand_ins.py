"""Makes stand-ins for CUDA libraries that the torch wheel loads at start but a CPU run never calls.

The wheel's Python package loads libtorch_cuda.so on every machine, and that needs cuBLAS, cuDNN, NCCL and others: two
gigabytes that a machine without a GPU cannot use. A stand-in has the library's name and the symbols that torch's own
libraries need from it; calling one traps.
"""

import collections
import pathlib
import subprocess

# torch's libraries that need CUDA's, as far as this version has them.
USERS = ["libtorch_cuda.so", "libtorch_python.so", "libc10_cuda.so", "libtorch_nvshmem.so"]
PREFIXES = ("cublas", "cudnn", "cufft", "cuFile", "curand", "cusparse", "cusolver", "nccl", "nvshmem")


def _lines(*command: str) -> list[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def _needed(library: pathlib.Path) -> list[str]:
    return [line.split("[")[1].rstrip("]") for line in _lines("readelf", "-d", str(library)) if "(NEEDED)" in line]


def _found_by_loader() -> set[str]:
    return {line.split()[0] for line in _lines("/sbin/ldconfig", "-p")[1:] if line.strip()}


def missing(libtorch: pathlib.Path) -> list[str]:
    """Returns names of libraries that torch's need but neither the folder nor the system has."""
    have = {path.name for path in libtorch.glob("torch/lib/*.so*")}
    have |= {path.name for path in libtorch.glob("nvidia/*/lib/*.so*")}
    have |= _found_by_loader()
    users = [libtorch / "torch/lib" / name for name in USERS]
    return sorted({name for user in users if user.exists() for name in _needed(user)} - have)


def _version_files(user: pathlib.Path) -> dict[str, str]:
    """Returns the library that has to provide each symbol version."""
    files, file = {}, ""
    for line in _lines("readelf", "-V", "-W", str(user)):
        words = line.split()
        if "File:" in words:
            file = words[words.index("File:") + 1]
        elif "Name:" in words and file:
            files[words[words.index("Name:") + 1]] = file
    return files


def _wanted(libtorch: pathlib.Path) -> dict[str, dict[str, str]]:
    """Returns symbols and their versions by the library that has to provide them; "" for any library."""
    wanted = collections.defaultdict(dict)
    for name in USERS:
        user = libtorch / "torch/lib" / name
        if not user.exists():
            continue
        files = _version_files(user)
        for line in _lines("nm", "-D", "--undefined-only", str(user)):
            symbol, _, version = line.split()[-1].partition("@")
            if symbol.startswith(PREFIXES):
                wanted[files.get(version, "")][symbol] = version
    return wanted


def make(libtorch: pathlib.Path, folder: pathlib.Path) -> None:
    """Writes a stand-in for each missing library into `folder`; needs gcc and binutils."""
    names = missing(libtorch)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(libtorch)
    # The loader requires a versioned symbol from the library of that name, the others from any.
    loose = next((name for name in names if not wanted.get(name)), None)
    for name in names:
        symbols = wanted.get(name, wanted[""] if name == loose else {})
        source, script = folder / f"{name}.S", folder / f"{name}.map"
        body = "".join(f".globl {s}\n.type {s},@function\n{s}:\n" for s in sorted(symbols))
        source.write_text(f'.text\n{body}ud2\n.section .note.GNU-stack,"",@progbits\n')
        script.write_text("".join(f"{version} {{ global: *; }};\n" for version in set(symbols.values()) - {""}))
        command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", str(folder / name), str(source)]
        if script.read_text():
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)
