"""Builds the wheel with the standard library alone, so that it needs no network: a build backend by PEP 517.

    pip wheel --no-index --no-deps .     or     python3 backend.py DIRECTORY
"""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).parent


def _project(key):
    found = re.search(rf'^{key} = "(.+)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    return found.group(1)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into the directory and returns its name."""
    version = _project("version")
    info = f"askbus-{version}.dist-info"
    metadata = "".join(
        f"{line}\n"
        for line in [
            "Metadata-Version: 2.1", "Name: askbus", f"Version: {version}", f"Summary: {_project('description')}", f"License: {_project('license')}",
            f"Requires-Python: {_project('requires-python')}", "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text(encoding="utf-8"),
        ]
    )
    files = {f"askbus/{path.name}": path.read_bytes() for path in sorted((HERE / "askbus").iterdir()) if path.suffix in (".py", ".pyi", ".typed")}
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: askbus\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/LICENSE"] = (HERE / "LICENSE").read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    name = f"askbus-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)  # the same bytes each time
    return name


if __name__ == "__main__":
    print(build_wheel(sys.argv[1]))
