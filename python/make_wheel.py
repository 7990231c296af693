"""Makes the wheel of the Python client: its sources, the messages that protoc generates from proto/, the results that
make_results.py generates from them, and the metadata of pyproject.toml. The same sources give the same bytes.

usage: make_wheel.py --version 0.1.0 --proto DIR --protoc PROGRAM --plugin GRPC_PYTHON_PLUGIN --output DIR

A wheel is a zip file (PEP 427), so no packaging tool is needed or downloaded.
"""

import argparse
import base64
import hashlib
import pathlib
import subprocess
import tempfile
import tomllib
import zipfile
from typing import Any

import descriptors
import make_results

HERE = pathlib.Path(__file__).resolve().parent
# The client's requests are in control.proto; it imports the others.
PROTOS = ["control", "model", "record", "rights"]
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the earliest time in a zip file


def generate(arguments: argparse.Namespace, output: pathlib.Path) -> dict[str, bytes]:
    """Returns the messages as Python, with types for editors, the stub of the service, and the results."""
    names = [f"dtrain/v1/{name}.proto" for name in PROTOS]
    common = [arguments.protoc, f"-I{arguments.proto}"]
    subprocess.run([*common, f"--python_out={output}", f"--pyi_out={output}", *names], check=True)
    subprocess.run([*common, f"--grpc_out={output}", f"--plugin=protoc-gen-grpc={arguments.plugin}", names[0]],
                   check=True)
    files = {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.rglob("*.py*"))}
    described = output / "descriptors"
    subprocess.run([*common, f"--descriptor_set_out={described}", "--include_source_info", *names], check=True)
    files.update(make_results.generate(descriptors.read(described.read_bytes())))
    files["dtrain/v1/__init__.py"] = b'"""The messages of the coordinator, generated from proto/dtrain/v1."""\n'
    return files


def metadata(project: dict[str, Any], version: str) -> str:
    """Returns the text of METADATA."""
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}",
             f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {need}" for need in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {need}; extra == '{extra}'" for need in needs]
    return "\n".join(lines) + "\n"


def record(files: dict[str, bytes], name: str) -> bytes:
    """Returns the content of RECORD, whose own path is `name`: the digest and size of each file."""
    lines = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{name},,", ""]).encode()


def write(folder: pathlib.Path, stem: str, tag: str, files: dict[str, bytes], generator: str, level: int = 6
          ) -> pathlib.Path:
    """Writes the wheel STEM-py3-none-TAG.whl with these files, WHEEL and RECORD, completely or not at all.

    Installers read the metadata first, so it is at the end of the file.
    """
    info = f"{stem}.dist-info"
    pure = "true" if tag == "any" else "false"
    files = {**files, f"{info}/WHEEL": (f"Wheel-Version: 1.0\nGenerator: {generator}\nRoot-Is-Purelib: {pure}\n"
                                        f"Tag: py3-none-{tag}\n").encode()}
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{stem}-py3-none-{tag}.whl"
    partial = wheel.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files, key=lambda name: (name.startswith(info), name)):
            entry = zipfile.ZipInfo(path, EARLIEST)
            entry.create_system = 3  # Unix: the mode counts
            entry.external_attr = (0o100755 if ".data/scripts/" in path else 0o100644) << 16
            archive.writestr(entry, files[path], zipfile.ZIP_DEFLATED, level)
    return partial.replace(wheel)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("version", "proto", "protoc", "plugin"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    files = {str(path.relative_to(HERE)): path.read_bytes() for path in sorted((HERE / "dtrain").glob("*.py"))}
    files["dtrain/py.typed"] = (HERE / "dtrain/py.typed").read_bytes()
    files["dtrain/_version.py"] = f'"""The version of this build."""\n\n__version__ = "{arguments.version}"\n'.encode()
    with tempfile.TemporaryDirectory() as folder:
        files.update(generate(arguments, pathlib.Path(folder)))
    stem = f"{project['name']}-{arguments.version}"
    files[f"{stem}.dist-info/METADATA"] = metadata(project, arguments.version).encode()
    write(arguments.output, stem, "any", files, "make_wheel")


if __name__ == "__main__":
    main()
