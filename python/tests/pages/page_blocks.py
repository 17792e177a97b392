"""Every block of every page: where it stands, what runs it, and whether its names and options exist."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import re
import shlex
import subprocess
import sys
import types
from typing import Any

from conftest import PACK, ROOT

BLOCK = re.compile(r"^( *)```(python|console|sh)\n(.*?)^ *```", re.S | re.M)


@dataclasses.dataclass(frozen=True)
class Block:
    """A program or some commands of a page."""

    page: str
    line: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def of_page(page: str) -> list[Block]:
    """The blocks of a page."""
    text = (ROOT / page).read_text()
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, "console" if found[2] == "sh" else found[2], found[3])
        for found in BLOCK.finditer(text)
    ]


@functools.cache
def pages() -> tuple[str, ...]:
    """The pages with blocks, of all that git knows or would add."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True).stdout.split()
    return tuple(sorted(page for page in set(listed) if (ROOT / page).exists() and of_page(page)))


def commands(block: Block) -> list[str]:
    """The commands of a console block, each with its continued lines, without `$ ` and without outputs."""
    shown = re.search(r"^\$ ", block.code, re.M) is not None
    found: list[str] = []
    continued = False
    for line in block.code.splitlines():
        if continued:
            found[-1] += "\n" + line
        elif not shown and line.strip():
            found.append(line)
        elif line.startswith("$ "):
            found.append(line[2:])
        # An assignment whose quotes are still open goes on in the next line.
        continued = bool(found) and (found[-1].endswith("\\") or found[-1].count('"') % 2 == 1)
    return found


# Names of Python.


class Unknown(Exception):
    """A page uses a name that does not exist."""


class StandIn(types.ModuleType):
    """A module that has any class."""

    def __getattr__(self, word: str) -> Any:
        if word.startswith("__"):
            raise AttributeError(word)
        return type(word, (), {})


@functools.cache
def without_ray() -> Any:
    """`tarflume.ray`, whose signatures need no Ray. Other tests import it as if this had not been here."""
    if importlib.util.find_spec("ray") is not None:
        return importlib.import_module("tarflume.ray")
    names = ["ray", "ray.data", "ray.data.block", "ray.data.datasource"]
    sys.modules.update({name: StandIn(name) for name in names})
    try:
        return importlib.import_module("tarflume.ray")
    finally:
        for name in [name for name in sys.modules if name in names or re.match(r"tarflume\.ray($|\.)", name)]:
            del sys.modules[name]
        vars(sys.modules["tarflume"]).pop("ray", None)


def attribute(owner: Any, name: str, path: str) -> Any:
    """An attribute, which may be a module that is not imported yet."""
    place = f"{owner.__name__}.{name}" if isinstance(owner, types.ModuleType) else ""
    if place == "tarflume.ray":
        return without_ray()
    if place == "tarflume.webdataset.instead":
        return owner  # its import changes what others in this process import
    if isinstance(owner, types.ModuleType) and not hasattr(owner, name):
        try:
            return importlib.import_module(f"{owner.__name__}.{name}")
        except ModuleNotFoundError:
            pass
    try:
        return getattr(owner, name)
    except AttributeError:
        raise Unknown(f"{path} has no {name!r}") from None


def keywords(function: Any) -> frozenset[str] | None:
    """The keywords of a function or a class; None if it takes any."""
    import tarflume

    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None  # an object that no program makes
    names = frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    rest = [p.name for p in parameters if p.kind is p.VAR_KEYWORD]
    if rest == ["settings"]:  # those of the loader
        return names | (keywords(tarflume.Loader) or frozenset())
    return None if rest else names


class Names(ast.NodeVisitor):
    """Resolves what a program takes from tarflume: attributes, methods and keywords."""

    def __init__(self) -> None:
        import tarflume

        # A page may show a part of a program that has imported the package.
        self.known: dict[str, Any] = {"tarflume": tarflume}
        #: Variables that hold an object of a class.
        self.objects: dict[str, Any] = {}
        self.resolved = 0

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            if name.name.split(".")[0] == "tarflume":
                module = functools.reduce(lambda owner, word: attribute(owner, word, name.name), name.name.split(".")[1:],
                                          self.known["tarflume"])
                self.known[name.asname or "tarflume"] = module if name.asname else self.known["tarflume"]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and node.module.split(".")[0] == "tarflume":
            module = importlib.import_module(node.module)
            for name in node.names:
                self.known[name.asname or name.name] = attribute(module, name.name, node.module)

    def resolve(self, node: ast.expr) -> Any:
        """The object of tarflume that an expression names, or None."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            if owner is None and isinstance(node.value, ast.Name):
                owner = self.objects.get(node.value.id)
            if owner is None and isinstance(node.value, ast.Call):
                owner = self.made(node.value)
            if owner is not None:
                self.resolved += 1
                return attribute(owner, node.attr, ast.unparse(node.value))
        return None

    def made(self, node: ast.expr) -> Any:
        """The class of an expression that calls a class, or None."""
        found = self.resolve(node.func) if isinstance(node, ast.Call) else None
        return found if inspect.isclass(found) else None

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.objects.pop(target.id, None)
                if (made := self.made(node.value)) is not None:
                    self.objects[target.id] = made
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):  # a program may give an object more attributes
            self.resolve(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        found = self.resolve(node.func)
        allowed = None if found is None else keywords(found)
        for word in node.keywords:
            if allowed is not None and word.arg is not None and word.arg not in allowed:
                raise Unknown(f"{ast.unparse(node.func)} has no keyword {word.arg!r}")
        self.generic_visit(node)


def check_python(code: str) -> int:
    """Raises an error for a name of tarflume that does not exist; returns how many were looked up."""
    names = Names()
    names.visit(ast.parse(code.replace(", ...)", ")")))
    return names.resolved


# Options of commands.


@functools.cache
def help_of(command: str) -> str | None:
    """What `pack COMMAND --help` prints; None if there is no such command."""
    done = subprocess.run([PACK, command, "--help"], text=True, capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


@functools.cache
def targets() -> set[str]:
    """The targets of the Makefile."""
    return set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(), re.M))


def words_of(command: str) -> list[list[str]]:
    """The words of the programs of a command line: those of a pipe and of a list are apart."""
    text = command.replace("\\\n", " ").replace("[PHOTOS=DIR]", "PHOTOS=DIR")
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if word and set(word) <= set("|;&"):
            found.append([])
        else:
            found[-1].append(word)
    return [words for words in found if words]


def check_pack(words: list[str]) -> None:
    """Raises an error for a command or an option that `pack` does not have."""
    command, *rest = words
    text = help_of(command)
    if text is None:
        raise Unknown(f"pack has no command {command!r}")
    for word in rest[: rest.index("--")] if "--" in rest else rest:
        option = re.match(r"--?[A-Za-z][\w-]*", word)
        if option and not re.search(rf"(?<![\w-]){re.escape(option[0])}(?![\w-])", text):
            raise Unknown(f"pack {command} has no option {option[0]}")


def check_command(command: str) -> None:
    """Raises an error for an option, a target, a file or a module that does not exist."""
    for words in words_of(command):
        while words and re.match(r"\w+=", words[0]):
            words = words[1:]
        for n, word in enumerate(words):
            if word == "pack" or word.endswith("/pack"):
                check_pack(words[n + 1 :])
                break
        if words[:1] == ["make"] and not {word for word in words[1:] if "=" not in word} <= targets():
            raise Unknown(f"the Makefile has no {words[1:]}")
        if words[:2] == ["pip", "install"]:
            check_install(words[2:])
        if words[:1] == ["cargo"] and "--example" in words:
            name = words[words.index("--example") + 1]
            if not (ROOT / "reader" / "examples" / f"{name}.rs").exists():
                raise Unknown(f"there is no example {name}")
        if words[:1] in (["python"], ["python3"]) and words[1:]:
            check_program(words[1:])


def check_install(words: list[str]) -> None:
    for word in words:
        extra = re.fullmatch(r"tarflume\[(\w+)\]", word)
        if extra and not re.search(rf"^{extra[1]} = ", (ROOT / "python" / "pyproject.toml").read_text(), re.M):
            raise Unknown(f"the package has no extra {extra[1]}")
        if word.endswith("/") and not (ROOT / word).is_dir():
            raise Unknown(f"there is no folder {word}")


def check_program(words: list[str]) -> None:
    if words[0] == "-m":
        if importlib.util.find_spec(words[1]) is None:
            raise Unknown(f"there is no module {words[1]}")
    elif words[0].endswith(".py") and not any((ROOT / folder / words[0]).exists() for folder in ("", "bench/gpu")):
        raise Unknown(f"there is no file {words[0]}")
