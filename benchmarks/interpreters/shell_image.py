"""The image of the docker backend with a shell, mkdir and a `python` on top, as llm-sandbox needs them.

    python benchmarks/interpreters/shell_image.py IMAGE NEW_IMAGE

Both programs and their libraries are this machine's, so the image must have been made here.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile

PROGRAMS = ("sh", "mkdir", "sleep")


def context(image: str) -> bytes:
    """What is built, as a tar."""
    files = {}
    for name in PROGRAMS:
        found = shutil.which(name, path="/bin:/usr/bin")
        assert found is not None, f"this machine has no {name}"
        files[f"/bin/{name}"] = os.path.realpath(found)
        libraries = subprocess.run(["ldd", found], capture_output=True, text=True, check=True).stdout
        files |= {path: os.path.realpath(path) for path in re.findall(r"/\S+", libraries) if os.path.exists(path)}
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for target, source in files.items():
            with open(source, "rb") as file:
                member = tarfile.TarInfo(f"root/usr{target.removeprefix('/usr')}")
                member.mode, member.size = 0o755, os.fstat(file.fileno()).st_size
                tar.addfile(member, file)
        member = tarfile.TarInfo("root/usr/local/bin/python")  # the name that it calls
        member.type, member.linkname = tarfile.SYMTYPE, "python3"
        tar.addfile(member)
        recipe = f'FROM {image}\nCOPY root/ /\nWORKDIR /sandbox\nENTRYPOINT []\nCMD ["sh"]\n'.encode()
        member = tarfile.TarInfo("Dockerfile")
        member.size = len(recipe)
        tar.addfile(member, io.BytesIO(recipe))
    return data.getvalue()


def main() -> None:
    """Build it."""
    image, new = sys.argv[1:]
    # the classic builder: it needs no plug-in
    variables = {**os.environ, "DOCKER_BUILDKIT": "0"}
    subprocess.run(["docker", "build", "-q", "-t", new, "-"], input=context(image), env=variables, check=True)


if __name__ == "__main__":
    main()
