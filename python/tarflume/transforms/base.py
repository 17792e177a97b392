"""`Operation`: the base of the operations of a recipe."""

from __future__ import annotations

import inspect
import json
import os
import pathlib
from typing import Any

from ..errors import UsageError
from .pictures import called

__all__ = ["Operation", "operation_or_error"]


class Operation:
    """One step of a recipe, with its arguments as attributes.

    An operation never changes. Two operations are equal if they have the same class and the same arguments. The `repr`
    can be pasted into a program that has `from tarflume import transforms`.

        transforms.RandomRotation(30).degrees                # (-30.0, 30.0)

    It is a function of a picture, too, as in torchvision: of a NumPy array of uint8 `[height, width, channels]`, an image of
    Pillow, or a tensor of uint8 `[channels, height, width]`. The result is of the same kind.

        changed = recipe(array)                              # random numbers of Python's `random`
        same = recipe(array, seed=7)                         # those of this seed
    """

    # A slot is no argument: `vars`, and so equality, `repr` and pickles, leave it out.
    __slots__ = ("__dict__", "__weakref__", "_kept_json")
    _kept_json: str

    def _keep(self, **arguments: Any) -> None:
        """Keeps the arguments of the constructor: in their order, in the form that the constructor gives back."""
        self.__dict__.update(arguments)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} never changes: make another one with the {name} that you want")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} never changes: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self).__name__, *vars(self).items()))

    def __reduce__(self) -> tuple[object, ...]:
        return (_again, (type(self), vars(self)))

    def __repr__(self) -> str:
        inner = vars(self).get("transforms")
        words = [f"{name}={value!r}" for name, value in _told(self).items() if name != "transforms"]
        if inner is not None:
            words.insert(0, _list_of(inner))
        return f"transforms.{type(self).__name__}({', '.join(words)})"

    def __call__(self, picture: Any, seed: int | None = None) -> Any:
        """The picture after the operation. Without a seed of 0 to 2**64 - 1 there is one of Python's `random`, which a
        DataLoader seeds in each worker."""
        return called(self._json(), picture, seed)

    def _json(self) -> str:
        """`to_json()`, made once."""
        try:
            return self._kept_json
        except AttributeError:
            object.__setattr__(self, "_kept_json", self.to_json())
            return self._kept_json

    def to_dict(self) -> dict[str, Any]:
        """The operation as JSON has it, in the form that the Rust crate reads: `{"RandomInvert": {"p": 0.5}}`."""
        arguments = {name: _plain(value) for name, value in vars(self).items() if value is not None}
        return {type(self).__name__: arguments}

    def to_json(self) -> str:
        """The recipe of this operation alone: a list as JSON, as `pack view --transform` reads it."""
        return json.dumps([self.to_dict()])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the recipe of this operation to a file, for `pack view --transform FILE`. Replaces the file.

            recipe.save("recipe.json")
        """
        pathlib.Path(path).write_text(json.dumps(json.loads(self.to_json()), indent=2) + "\n", encoding="utf-8")


def operation_or_error(value: object, owner: str, place: str) -> Operation:
    """A step of a list, or an error that names it."""
    if isinstance(value, Operation):
        return value
    library = type(value).__module__.partition(".")[0]
    if library in ("torchvision", "timm", "albumentations"):
        advice = f"convert the whole recipe by tarflume.transforms.from_{library}"
    elif library == "tarflume":
        advice = f"use tarflume.transforms.{type(value).__name__}, which has the arguments of torchvision"
    else:
        advice = "for a function, use tarflume.Apply around the column"
    raise UsageError(f"{owner}: {place} is {value!r}; a step is an operation of tarflume.transforms: {advice}")


def _again(kind: type[Operation], arguments: dict[str, Any]) -> Operation:
    return kind(**arguments)


def _required(kind: type[Operation]) -> tuple[str, ...]:
    """The arguments without a default."""
    words = inspect.signature(kind).parameters.values()
    return tuple(word.name for word in words if word.default is inspect.Parameter.empty)


def _told(operation: Operation) -> dict[str, Any]:
    """The arguments that make the operation: without those that are as by default."""
    arguments = vars(operation)
    required = {name: arguments[name] for name in _required(type(operation))}
    plain = vars(type(operation)(**required))
    return {name: value for name, value in arguments.items() if name in required or value != plain[name]}


def _list_of(steps: tuple[Operation, ...]) -> str:
    """A list of operations, each on its line."""
    if not steps:
        return "[]"
    lines = "".join(f"{step!r},\n" for step in steps)
    return "[\n" + "".join(f"    {line}\n" for line in lines.splitlines()) + "]"


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, Operation):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
