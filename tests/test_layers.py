"""The walls of the house, read from the source: who may import whom, and what stays in one room."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From the ground up. A module may import from its own row's package and from rows above it in this
# table; a row that is a package stands for everything in it. A new module needs a place here.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("scope",),
    ("types",),
    ("errors",),
    ("supervision",),
    ("addresses",),
    (
        "environment",
        "settings",
    ),
    ("observing",),
    ("text",),
    ("models",),
    ("reading",),
    ("storage",),
    ("access",),
    ("retrieval",),
    ("tables",),
    ("ingestion",),
    ("research",),
    ("answering",),
    ("open_library",),
    ("library",),
    ("export",),
    ("evaluation",),
    ("server",),
    ("ui",),
    ("cli",),
)
RANKS = {name: rank for rank, row in enumerate(LAYERS) for name in row}

# An outside package, and the only modules (or packages of ours) that may know it.
ROOMS: dict[str, tuple[str, ...]] = {
    "streamlit": ("ui",),
    "chromadb": ("storage",),
    "obstore": ("storage",),
    "ray": ("cli",),
    "sqlite3": ("storage",),
    "psycopg": ("storage",),
    "psycopg_pool": ("storage",),
    "pypdf": ("reading",),
    "pypdfium2": ("reading",),
    "olefile": ("reading",),
    "msoffcrypto": ("reading",),
    "python_calamine": ("reading",),
    "selectolax": ("reading",),
    "charset_normalizer": ("reading",),
    "rapidocr": ("reading",),
    "watchdog": ("ingestion",),
    "httpcore": ("ingestion",),
    "babel": ("text",),
    "py3langid": ("text",),
    "duckdb": ("tables",),
    "pyarrow": ("tables",),
    "openvino": ("answering", "models", "retrieval"),
    "openvino_genai": ("models",),
    "gguf": ("models",),
    "jinja2": ("export",),
    "starlette": ("server", "ui"),
    "fastapi": ("server",),
    "mcp": ("server",),
    "python_multipart": ("server",),
    "prometheus_client": ("observing",),
    "opentelemetry": ("observing",),
}
SLOW = ("torch", "transformers", "sentence_transformers")
OUTSIDE = ("training", "benchmarks", "tests", "scripts")
# Where whatever is raised is caught, how often, and why nothing narrower will do. Fewer is better.
BLANKET: dict[str, tuple[int, str]] = {
    "supervision.py": (1, "what is raised in one thread or process is told in another, or logged"),
    "server/desk.py": (1, "said to who asked, since the answer has begun"),
    "ui/jobs.py": (1, "the boundary of the page"),
}
MOST_STEMS = 3  # names that two modules have
LONGEST = 600  # lines of a module
ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}


@dataclass(frozen=True)
class Import:
    """One imported name, "rag_app.types.Page"; `late`: in a function, or for type checking only."""

    name: str
    line: int
    late: bool

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Module:
    """One source file of rag_app. `room`: its place in the tables above, "" for rag_app itself."""

    path: Path
    room: str
    tree: ast.Module

    @property
    def where(self) -> str:
        return str(self.path.relative_to(ROOT))


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(node: ast.AST, package: str, late: bool = False) -> Iterator[Import]:
    """Everything imported under `node`; relative imports are resolved against `package`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            up = package.split(".")[: len(package.split(".")) - child.level + 1]
            base = ".".join([*up, child.module or ""] if child.level else [child.module or ""])
            yield from (
                Import(f"{base.strip('.')}.{alias.name}", child.lineno, late)
                for alias in child.names
            )
        else:
            deeper = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from imports(child, package, late or deeper or _is_type_checking(child))


@cache
def modules() -> tuple[Module, ...]:
    """Every module of rag_app."""
    package = ROOT / "rag_app"
    return tuple(
        Module(
            path=path,
            room=path.relative_to(package).parts[0].removesuffix(".py").removeprefix("__init__"),
            tree=ast.parse(path.read_text(encoding="utf-8")),
        )
        for path in sorted(package.rglob("*.py"))
    )


@cache
def imports_of(module: Module) -> tuple[Import, ...]:
    """Everything that a module of ours imports."""
    package = ".".join(module.path.parent.relative_to(ROOT).parts)
    return tuple(imports(module.tree, package))


def _breaches(found: Iterator[str]) -> None:
    listed = sorted(found)
    assert not listed, "\n" + "\n".join(listed)


def test_every_module_has_a_place_in_the_table():
    _breaches(
        f"{module.where}: add {module.room!r} to LAYERS in tests/test_layers.py"
        for module in modules()
        if module.room and module.room not in RANKS and module.room != "__main__"
    )


def test_lower_never_imports_higher():
    def found() -> Iterator[str]:
        for module in modules():
            for imported in imports_of(module):
                target = imported.name.partition(".")[2].partition(".")[0]
                if imported.package != "rag_app" or target not in RANKS:
                    continue
                if target != module.room and RANKS[target] >= RANKS.get(module.room, len(LAYERS)):
                    yield f"{module.where}:{imported.line}: {module.room} imports {target}"

    _breaches(found())


def test_the_ground_floor_imports_nothing_of_ours():
    ground = [module for module in modules() if module.room in ("scope", "types", "errors")]
    assert len(ground) == 3
    _breaches(
        f"{module.where}:{imported.line}: {imported.name}"
        for module in ground
        for imported in imports_of(module)
        if imported.package == "rag_app" and not imported.name.startswith("rag_app.scope.")
    )


@pytest.mark.parametrize("package", ROOMS)
def test_an_outside_package_stays_in_its_room(package):
    _breaches(
        f"{module.where}:{imported.line}: imports {imported.name}"
        for module in modules()
        for imported in imports_of(module)
        if imported.package == package and module.room not in ROOMS[package]
    )


def test_slow_packages_are_imported_where_they_are_used():
    _breaches(
        f"{module.where}:{imported.line}: {imported.name} at module level"
        for module in modules()
        for imported in imports_of(module)
        if imported.package in SLOW and not imported.late
    )


def test_the_package_does_not_know_what_surrounds_it():
    _breaches(
        f"{module.where}:{imported.line}: imports {imported.name}"
        for module in modules()
        for imported in imports_of(module)
        if imported.package in OUTSIDE
    )


def _more_than_one(named: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand in more than one place, with the places."""
    places: dict[str, list[str]] = {}
    for name, where in named:
        places.setdefault(name, []).append(where)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_a_class_name_means_one_thing():
    named = (
        (node.name, module.where)
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    )
    _breaches(f"{name}: {', '.join(found)}" for name, found in _more_than_one(named).items())


def test_a_module_is_found_by_its_name():
    named = ((each.path.stem, each.where) for each in modules() if "__" not in each.path.stem)
    twice = _more_than_one(named)
    assert len(twice) <= MOST_STEMS, twice


def test_no_module_is_too_long_to_read():
    _breaches(
        f"{module.where}: more than {LONGEST} lines"
        for module in modules()
        if len(module.path.read_text("utf-8").splitlines()) > LONGEST
    )


def test_no_function_is_longer_than_forty_lines():
    _breaches(
        f"{module.where}:{node.lineno}: {node.name}"
        for module in modules()
        for node in ast.walk(ast.parse(module.path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 40
    )


def _catches_anything(node: ast.AST) -> bool:
    """Whether it is a bare `except:`, or one of Exception; so, too, in `suppress`."""
    if isinstance(node, ast.ExceptHandler):
        caught = [node.type] if node.type else [ast.Name("Exception")]
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
        caught = list(node.args)
    else:
        return False
    anything = {"Exception", "BaseException"}
    return any(ast.unparse(name) in anything for one in caught for name in ast.walk(one))


def test_what_is_caught_is_named():
    def found() -> Iterator[str]:
        for module in modules():
            short = module.where.removeprefix("rag_app/")
            most, _ = BLANKET.get(short, (0, ""))
            lines = [node.lineno for node in ast.walk(module.tree) if _catches_anything(node)]
            if len(lines) > most:
                yield f"{module.where}: catches anything in lines {lines}, {most} have a reason"

    _breaches(found())


def test_only_the_command_line_prints():
    _breaches(
        f"{module.where}:{node.lineno}: print"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("print", "pprint")
        and module.room != "cli"
    )


def test_only_two_modules_touch_the_environment():
    def found() -> Iterator[str]:
        for module in modules():
            if module.room in ("environment", "settings"):
                continue
            for node in ast.walk(module.tree):
                touched = isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT
                if touched and isinstance(node.value, ast.Name) and node.value.id == "os":
                    yield f"{module.where}:{node.lineno}: os.{node.attr}"
            for imported in imports_of(module):
                if imported.name.startswith("os.") and imported.name[3:] in ENVIRONMENT:
                    yield f"{module.where}:{imported.line}: {imported.name}"

    _breaches(found())


def test_every_process_that_is_started_is_given_its_environment():
    """Else it would get the whole one, with every key in it."""
    starting = {"Popen", "run", "call", "check_call", "check_output"}
    itself = "rag_app/cli/serve.py"  # starts the app, which reads its settings from it
    _breaches(
        f"{module.where}:{node.lineno}: no env"
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "subprocess"
        and node.func.attr in starting
        and "env" not in {keyword.arg for keyword in node.keywords}
        and module.where != itself
    )


def test_the_entry_is_the_only_other_place_that_knows_streamlit():
    _breaches(
        f"{path.relative_to(ROOT)}:{imported.line}"
        for folder in ("benchmarks", "scripts", "training")
        for path in (ROOT / folder).rglob("*.py")
        for imported in imports(ast.parse(path.read_text(encoding="utf-8")), folder)
        if imported.package == "streamlit"
    )


def test_what_is_drawn_anew_alone_has_a_container_of_its_own():
    """`browser.fragment` says why; without it the page breaks when two runs follow at once."""
    pages = (ROOT / "rag_app" / "ui").glob("*.py")
    by = [page.name for page in pages if "st.fragment(" in page.read_text(encoding="utf-8")]
    assert by == ["browser.py"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch", [("torch", False)]),
        ("def f():\n    import torch", [("torch", True)]),
        ("if TYPE_CHECKING:\n    from torch import Tensor", [("torch.Tensor", True)]),
        ("try:\n    import torch\nexcept ImportError: pass", [("torch", False)]),
        ("from .types import Page", [("rag_app.reading.types.Page", False)]),
        ("from ..types import Page", [("rag_app.types.Page", False)]),
        ("from .. import library", [("rag_app.library", False)]),
    ],
)
def test_imports_are_read_from_the_source(source, expected):
    found = [
        (imported.name, imported.late) for imported in imports(ast.parse(source), "rag_app.reading")
    ]
    assert found == expected
