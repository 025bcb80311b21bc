"""Other projects in environments of their own, beside ours and out of its way.

Their packages are installed into build/bench/NAME; what they share with us (torch,
sentence-transformers, the embedding model) is taken from our environment, so that both sides run on
the same versions where their pins allow it. Nothing of this is needed to use the app."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processes import ROOT

FOLDER = ROOT / "build" / "bench"


@dataclass(frozen=True, slots=True)
class Peer:
    """Another project: what it is called, and the packages that its docs say to install."""

    name: str
    packages: tuple[str, ...]


PEERS = {
    "llamaindex": Peer(
        "LlamaIndex",
        (
            "llama-index-core==0.14.25",
            "llama-index-embeddings-huggingface==0.8.0",
            "llama-index-readers-file==0.7.0",
        ),
    ),
    "haystack": Peer("Haystack", ("haystack-ai==3.4.0", "sentence-transformers-haystack==2.0.0")),
    "txtai": Peer("txtai", ("txtai==9.14.0",)),
}


def python_of(key: str, peer: Peer | None = None) -> Path | None:
    """The Python that has a peer's packages; None where they cannot be installed.

    A peer of another table than PEERS is given with its key, which names its folder."""
    peer = peer or PEERS[key]
    folder = FOLDER / key
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    wanted = "\n".join(peer.packages)
    done = folder / "installed.txt"
    if done.is_file() and done.read_text("utf-8") == wanted:
        return python
    venv.create(folder, with_pip=True, clear=True)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    behind = Path(paths["purelib"]) / "behind.pth"
    behind.write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", *peer.packages]
    if subprocess.run(install, check=False).returncode:
        return None
    done.write_text(wanted, encoding="utf-8")
    return python
