"""The compiled half of the package. Import from `tarflume`."""

import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Final, Literal, Protocol, Self, SupportsIndex, final, overload

import numpy.typing as npt

from .buckets import Buckets
from .packs import Pack
from .progress import Progress
from .samples import Sample
from .statistics import Stats
from .transforms import Converted, Operation
from .transforms.annotations import BoxFormat
from .transforms.copy_paste import CopyPaste
from .transforms.mix import Mix
from .transforms.mosaic import Mosaic

__version__: Final[str]

type Path = str | os.PathLike[str]
type Shards = Path | Sequence[Path] | Dataset | Sequence[tuple[Path | Dataset, int]] | Mapping[str, ArrayDataset]
type Sides = int | tuple[int, int]
type Transform = RandomResizedCrop | Resize | CenterCrop | ResizeCenterCrop | OriginalSize | Operation
type Part = str | Image | Json | ClassLabel | Raw | Text | Npy | Tokens | Patches | Apply | ViewsColumn | Operation | Converted
type Annotation = Boxes | Masks | Keypoints | Mask
#: A pointer to a number of each object, or a pointer and a type.
type ObjectValues = str | tuple[str, DType] | None
type Numbers = str | Sequence[int] | npt.NDArray[Any] | ArrowStream | ArrowArray
type Selecting = Selection | ArrowStream | ArrowArray | npt.NDArray[Any] | Sequence[str] | Sequence[int] | range
type DType = Literal[
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16",
    "float32", "float64", "bool"
]

class ArrowStream(Protocol):
    """What exports an Arrow stream: tables of polars, DuckDB, pandas, pyarrow and others."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

class ArrowArray(Protocol):
    """What exports an Arrow array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

@final
class Column:
    """A read-only array in host memory: rows in order, without gaps.

    A view of a batch: it keeps the batch's memory. `numpy.asarray`, `torch.from_dlpack`, `jax.dlpack.from_dlpack`
    and `memoryview` take it without a copy.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getattr__(self, name: str, /) -> Any: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __divmod__(self, other: Any, /) -> Any: ...
    def __rdivmod__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, modulo: Any = None, /) -> Any: ...
    def __rpow__(self, other: Any, modulo: Any = None, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    def tolist(self) -> list[Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

def advice_for(path: Path) -> str | None: ...
def copied_column(bytes: bytes, dtype: str, shape: Sequence[int]) -> Column: ...
@final
class DeviceColumn:
    """An array in the memory of a GPU: rows in order, without gaps. Do not write into it.

    A view of a batch: it keeps the batch's memory. `torch.from_dlpack`, `cupy.from_dlpack` and
    `jax.dlpack.from_dlpack` take it without a copy.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...

@final
class Ragged:
    """Rows of different lengths: a sequence of `bytes`, of `str`, or of `Column`.

    Pictures of their own sizes are `Column`s of three dimensions.
    """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, which: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, which: slice, /) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def tolist(self) -> list[Any]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def values(self) -> Column: ...
    @property
    def offsets(self) -> Column: ...
    @property
    def shapes(self) -> list[tuple[int, int, int]]: ...
    @property
    def channels_first(self) -> bool | None: ...
    @property
    def has_objects(self) -> bool: ...
    def padded(self, value: float = 0.0) -> tuple[Column, Column]: ...

@final
class DeviceRagged:
    """Rows of different numbers of objects in the memory of a GPU: a sequence with a `DeviceColumn` for each picture.

    The rows are views of `values`, which has the objects of all pictures. `offsets` is in host memory, and `batch.host` has
    the same column there.
    """

    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, which: SupportsIndex, /) -> DeviceColumn: ...
    @overload
    def __getitem__(self, which: slice, /) -> list[DeviceColumn]: ...
    def __iter__(self) -> Iterator[DeviceColumn]: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def values(self) -> DeviceColumn: ...
    @property
    def offsets(self) -> Column: ...
    @property
    def shapes(self) -> list[tuple[int, int, int]]: ...
    @property
    def has_objects(self) -> bool: ...

@final
class Batch(Mapping[str, Any]):
    """Some samples, decoded: a mapping from names to columns. Its length is the number of samples.

    `padding` marks rows that repeat a sample of the epoch (`drop_last`). `device_columns` lists the columns that the GPU
    computed and that exist in its memory only.
    """

    @property
    def rows(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def ordinals(self) -> Column: ...
    @property
    def padding(self) -> list[bool]: ...
    @property
    def packs(self) -> int | None: ...
    @property
    def pack_of_row(self) -> Column: ...
    def cu_seqlens(self, column: str = "segment_ids") -> list[int]: ...
    @property
    def device_columns(self) -> list[str]: ...
    @property
    def host(self) -> Batch: ...
    def release(self, stream: Any = None) -> None: ...
    def used_on(self, stream: Any) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str, /) -> Any: ...
    def numpy(self) -> dict[str, Any]: ...
    def transforms(self) -> dict[str, list[list[dict[str, Any]]]]: ...
    def targets(self) -> list[dict[str, Any]]: ...
    def arrow(self) -> RecordBatch: ...
    def _repr_html_(self) -> str: ...

@final
class RecordBatch:
    """The columns of a batch, lent to Arrow without a copy."""

    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Table:
    """The samples of a data set as an Arrow stream: `ordinal`, `key`, `shard`, `row`, `offset`, `bytes`, `width`,
    `height`, the bytes of each part, such as `jpg_bytes`, and the typed columns of the sidecars."""

    def __len__(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Selection:
    """Some samples of a data set, for `Loader(select=)`: made by `Dataset.select`."""

    def __new__(cls, samples: int, bits: bytes) -> Self: ...
    def __len__(self) -> int: ...
    def __contains__(self, ordinal: int, /) -> bool: ...
    @property
    def ordinals(self) -> Column: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class Epoch:
    """The batches of one epoch, in order: each a `Batch`, or what `deliver=` and `collate=` make of it."""

    @property
    def number(self) -> int: ...
    @property
    def samples(self) -> int: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Any: ...
    def __length_hint__(self) -> int: ...
    def map[T](self, function: Callable[[Any], T]) -> Iterator[T]: ...
    def progress(self, progress: Progress = None) -> Iterator[Any]: ...
    def charge(self, seconds: float) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Ledger:
    """The digest of all samples that a loader has delivered."""

    def __new__(cls, text: str) -> Self: ...
    def merge(self, other: Ledger) -> Ledger: ...
    def prove(self, expected: Ledger) -> None: ...
    @property
    def samples(self) -> int: ...
    @property
    def bad(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...

@final
class TarStores:
    """The clients of stores that `TarStream`s share, for one pass over a data set."""

    def __new__(cls, storage: dict[str, object] | None = None) -> Self: ...

@final
class TarStream:
    """The samples of one tar, read once from front to back: dicts of `"__key__"`, `"__url__"` and `bytes`."""

    def __new__(
        cls,
        path: str,
        *,
        url: str | None = None,
        local_path: str | None = None,
        memory_limit: int | None = None,
        stores: TarStores | None = None,
        ignore_zeros: bool = False,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class PartDecoder:
    """A column of pictures, for single parts: their bytes, type and shape."""

    def __new__(cls, column: Transform | Image | Apply | Converted) -> Self: ...
    @property
    def extensions(self) -> list[str]: ...
    def decode(self, part: bytes, seed: int) -> tuple[bytearray, str, list[int]]: ...

def aspect_sizes(pixels: int, step: int, min_side: int | None, max_side: int | None) -> list[tuple[int, int]]: ...
def patch_size(operation: str, height: int, width: int) -> tuple[int, int]: ...
def aspect_bucket(sizes: list[tuple[int, int]], height: int, width: int) -> int: ...
def launcher_rank() -> tuple[int, int]: ...
def device_of_process(visible: int) -> tuple[int, str]: ...
def check_outside(path: Path) -> None: ...
def check_statistics_file(path: Path) -> None: ...
def merge_parts(out: Path, parts: Sequence[Path], prefix: str) -> dict[str, Any]: ...
def write_sidecar(path: Path, *, entry_points: bool = False) -> tuple[int, list[str]]:
    """Makes the sidecar of a plain tar; returns the number of samples, and warnings for readers."""

@final
class ArrayDataset:
    """Rows of an array in a file, read where they are: npy, raw, HDF5, Zarr or Parquet.

    `memory_limit`: bytes of decoded chunks or row groups that are kept, "1GiB" by default. `storage`: how a store is
    reached, for arrays of Zarr and data sets at URLs.
    """

    def __new__(
        cls,
        path: Path,
        name: str | None = None,
        *,
        dtype: str | None = None,
        shape: Sequence[int] | None = None,
        offset: int = 0,
        memory_limit: str | None = None,
        storage: Mapping[str, object] | None = None,
    ) -> Self: ...
    @property
    def block_rows(self) -> int | None: ...
    def __len__(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]: ...

@final
class ArrayBatches:
    """The batches of one epoch: dicts of columns."""

    def __new__(
        cls,
        arrays: Mapping[str, ArrayDataset],
        batch: int,
        *,
        seed: int | None,
        epoch: int,
        rank: tuple[int, int],
        drop_last: bool,
        first: int,
        threads: int,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> dict[str, Any]: ...
    def __length_hint__(self) -> int: ...

@final
class Dataset:
    """A data set: samples by number and by key, as dicts of `bytes`."""

    def __new__(
        cls,
        shards: Path | Sequence[Path] | Dataset,
        split: str | None = None,
        version: int | None = None,
        storage: Mapping[str, object] | None = None,
        cache: str | int | None = None,
    ) -> Self: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, which: SupportsIndex | str | bytes, /) -> Sample: ...
    @overload
    def __getitem__(self, which: slice, /) -> list[Sample]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[Sample]: ...
    def get(self, n: int, parts: Sequence[str]) -> Sample: ...
    def find(self, key: str | bytes) -> Sample: ...
    def key(self, n: int) -> str: ...
    def extensions(self) -> dict[str, int]: ...
    def table(self) -> Table: ...
    def select(self, table: Selecting) -> Selection: ...
    def numbers(self, part: str) -> Column: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    def _repr_html_(self) -> str: ...
    @property
    def shards(self) -> list[pathlib.Path | str]: ...
    @property
    def classes(self) -> dict[int, str] | None: ...
    @property
    def objects(self) -> dict[str, Any] | None: ...
    @property
    def splits(self) -> list[str]: ...
    @property
    def builds(self) -> int: ...
    @property
    def shard_sizes(self) -> list[tuple[int, int]]: ...

@final
class RandomResizedCrop:
    """A crop of random area and shape at a random place, resized, mirrored with probability `flip`."""

    def __new__(
        cls,
        size: Sides,
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = ...,
        flip: float = 0.0,
    ) -> Self: ...

@final
class Resident:
    """Keeps the data set in the memory of the GPU that batches go to, in at most `budget` bytes ("100GiB")."""

    def __new__(cls, budget: str, *, side: int = 256, format: Literal["rgb", "yuv420", "jpeg"] = "rgb") -> Self: ...

@final
class Resize:
    """The whole picture, resized: to `size`, or with its shorter side at `shorter` pixels."""

    def __new__(cls, size: Sides | None = None, *, shorter: int | None = None, longest: int | None = None) -> Self: ...

@final
class CenterCrop:
    """The middle `size` pixels, without resizing."""

    def __new__(cls, size: Sides) -> Self: ...

@final
class ResizeCenterCrop:
    """Resizes the shorter side to `side` pixels, then takes the middle `size`."""

    def __new__(cls, side: int, size: Sides) -> Self: ...

@final
class OriginalSize:
    """Keeps each picture as it is, with at most `max_pixels` pixels: rows have different sizes."""

    def __new__(cls, max_pixels: int) -> Self: ...

@final
class Image:
    """A picture: cut and resized by `transform`, or changed by a recipe of `tarflume.transforms`."""

    def __new__(
        cls,
        transform: Transform,
        part: str | None = None,
        *,
        layout: Literal["hwc", "chw"] = "hwc",
        channels: Literal["rgb", "gray", "rgba", "luma", "index"] = "rgb",
        dtype: Literal["uint8", "uint16", "float32", "float16", "bfloat16"] = "uint8",
        normalize: Literal["imagenet", "centered", "unit"] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        filter: Literal["bilinear", "bicubic", "lanczos", "nearest", "bilinear-fast"] | None = None,
        orientation: bool = True,
        reducing_gap: float | Literal["auto"] | None = "auto",
        damaged: Literal["error", "keep"] = "error",
        resize_on_device: int | None = None,
        device_decoder: float | Literal["auto", "kernels"] | None = None,
        transforms_on: Literal["host", "device", "auto"] = "host",
        fallback: Literal["pillow"] | None = None,
    ) -> Self: ...

@final
class Boxes:
    """Boxes that move with the picture of a loader, and values of the same objects: `labels="/category_index"`."""

    def __new__(
        cls,
        pointer: str,
        format: BoxFormat,
        *,
        relative: bool = False,
        out: BoxFormat = "xyxy",
        normalize: bool = False,
        classes: Sequence[str] | Mapping[str, int] | Mapping[int, str] | None = None,
        min_size: float = 1.0,
        min_area: float = 1.0,
        min_visibility: float = 0.0,
        part: str = "json",
        of: str = "image",
        rules: Literal["strict", "python"] = "strict",
        upright: bool = False,
        **values: ObjectValues,
    ) -> Self: ...

@final
class Masks:
    """Masks of objects, from polygons and run lengths of COCO, that move with the picture of a loader."""

    def __new__(
        cls,
        pointer: str,
        *,
        relative: bool = False,
        most: int = 100,
        bits: bool = False,
        classes: Sequence[str] | Mapping[str, int] | Mapping[int, str] | None = None,
        part: str = "json",
        of: str = "image",
        rules: Literal["strict", "python"] = "strict",
        upright: bool = False,
        **values: ObjectValues,
    ) -> Self: ...

@final
class Keypoints:
    """Keypoints that move with the picture of a loader: x, y and visibility."""

    def __new__(
        cls,
        pointer: str,
        *,
        count: int = 17,
        flip_pairs: Sequence[Sequence[int]] = (),
        relative: bool = False,
        normalize: bool = False,
        classes: Sequence[str] | Mapping[str, int] | Mapping[int, str] | None = None,
        part: str = "json",
        of: str = "image",
        rules: Literal["strict", "python"] = "strict",
        upright: bool = False,
        **values: ObjectValues,
    ) -> Self: ...

@final
class Mask:
    """A picture of numbers, such as the class of each pixel, that moves with the picture of a loader."""

    def __new__(
        cls,
        part: str,
        kind: Literal["semantic", "instance", "binary"] = "semantic",
        *,
        dtype: Literal["uint8", "uint16", "int32", "int64"] = "uint8",
        of: str = "image",
        upright: bool = False,
    ) -> Self: ...

@final
class Views:
    """Several pictures of each sample from one decoding: a column for each group, `name=(number of views, recipe)`.

    `groups` has them as a dict. Other keywords are those of `Image`. A mapping of the columns by name.
    """

    def __new__(
        cls,
        groups: dict[str, tuple[int, Transform | Image | Converted]] | None = None,
        *,
        part: str | None = None,
        layout: Literal["hwc", "chw"] = "hwc",
        channels: Literal["rgb", "gray", "rgba", "luma", "index"] = "rgb",
        dtype: Literal["uint8", "uint16", "float32", "float16", "bfloat16"] = "uint8",
        normalize: Literal["imagenet", "centered", "unit"] | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        filter: Literal["bilinear", "bicubic", "lanczos", "nearest", "bilinear-fast"] | None = None,
        orientation: bool = True,
        reducing_gap: float | Literal["auto"] | None = "auto",
        damaged: Literal["error", "keep"] = "error",
        fallback: Literal["pillow"] | None = None,
        **more: tuple[int, Transform | Image | Converted],
    ) -> Self: ...
    def keys(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __getitem__(self, name: str, /) -> ViewsColumn: ...

@final
class ViewsColumn:
    """The column of one group of a `Views`."""

@final
class Json:
    """The value at `pointer` of a JSON part."""

    def __new__(
        cls,
        pointer: str,
        part: str = "json",
        *,
        dtype: DType = "int64",
        shape: Sequence[int] | None = None,
        variable: bool = False,
        text: bool = False,
        labels: Sequence[str] | Mapping[str, int] | Mapping[int, str] | None = None,
        default: float | str | Sequence[float] | None = None,
        rules: Literal["strict", "python"] = "strict",
    ) -> Self: ...

@final
class ClassLabel:
    """A whole number in decimal."""

    def __new__(cls, part: str = "cls", *, dtype: DType = "int64") -> Self: ...

@final
class Raw:
    """A part's bytes as they are."""

    def __new__(
        cls, part: str, *, dtype: DType = "uint8", shape: Sequence[int] | None = None, optional: bool = False
    ) -> Self: ...

@final
class Text:
    """A part as UTF-8 text."""

    def __new__(cls, part: str = "txt") -> Self: ...

@final
class Npy:
    """A NumPy file as an array of `dtype`; or a TIFF of any number of bands, as an array of `shape` (bands, height, width)."""

    def __new__(
        cls, dtype: DType, part: str = "npy", *, shape: Sequence[int] | None = None, tail: Sequence[int] | None = None
    ) -> Self: ...

@final
class Tokens:
    """A column of blocks of token ids."""

    def __new__(
        cls,
        length: int,
        kind: str = "ids",
        *,
        dtype: DType = "int64",
        padding: int = 0,
        pad: Literal["length", "longest"] = "length",
        multiple_of: int = 1,
        ids: str = "ids.npy",
        cu_seqlens: str = "cu_seqlens.npy",
        loss: str = "loss.npy",
    ) -> Self: ...

@final
class Patches:
    """A column of the patches of pictures of different sizes: "pixels", "coordinates", "mask" or "grid"."""

    def __new__(
        cls,
        image: Operation | Image | Converted,
        patch: int,
        kind: Literal["pixels", "coordinates", "mask", "grid"] = "pixels",
        *,
        tokens: int | None = None,
        merge: int = 1,
        channels_first: bool = False,
        frames: int = 1,
    ) -> Self: ...

@final
class Apply:
    """Applies a Python function to each sample of a column: `function(value)`."""

    def __new__(
        cls,
        function: Callable[..., Any],
        column: Part,
        *,
        dtype: DType | None = None,
        shape: Sequence[int] | None = None,
        most: int | None = None,
        text: bool = False,
        seeded: bool = False,
    ) -> Self: ...

@final
class Loader:
    """Batches of a data set, epoch after epoch, made by threads in Rust. `help(tarflume.Loader)` describes all settings.

    `shuffle`: True is "full", False is "none".

    `drop_last`, for the samples that do not fill the last batch on all ranks:

    - False: a last batch that is shorter by the same number of rows on all ranks. With several ranks, the last ones
      repeat fewer than `world_size` samples from the beginning of the epoch, as `DistributedSampler` does.
    - True: left out.
    - "pad": the last batch has `batch_size` rows on all ranks, with samples from the beginning of the epoch.
    - "uneven": each sample once; ranks may differ by a row, and a rank without rows has one step less.

    `select`: a table with a column `ordinal` or `key`, a list or an array of either, an array of booleans, a `Selection`.

    `weights`: "/class" draws each class equally often; `{class: weight}`; an array with a whole number for each sample.
    `classes` is where the class of each sample is found, if it is not "/class". A dict of numbers by text numbers the
    texts of `label`: {"cat": 0, "dog": 1}.

    `bucket`: all rows of a batch are of one bucket. `max_pixels` or `max_tokens`, the most of a batch on this rank, replace
    `batch_size`, or `batch_size` is a list with the rows of each bucket. `same_bucket`: "step" for batches of one bucket on all
    ranks in each step.

    `pack`: samples of different lengths fill packs of tokens, and `batch_size` is a number of packs.

    `mosaic`: one picture of four rows of each batch, with the boxes, masks and points that lie on them.

    `copy_paste`: objects of another row of the batch over a picture, by their masks.

    `mix`: MixUp and CutMix of the rows of each batch. It adds the column `target`, or the labels of both rows and the weight.

    With `divide="shard"` all ranks have as many rows as the one with most samples (True: with fewest), and repeat samples
    of their own shards. `Batch.padding` marks repeated rows. `ledger()` does not count them, and a state that was saved
    before the last batch continues with any `drop_last`, rank and world size.
    """

    def __new__(
        cls,
        shards: Shards,
        *,
        batch_size: int | Sequence[int] = 1,
        bucket: Buckets | None = None,
        max_pixels: int | None = None,
        max_tokens: int | None = None,
        same_bucket: Literal["rank", "step"] = "rank",
        pack: Pack | None = None,
        shuffle: bool | Literal["none", "shards", "buffer", "blocks", "full"] = "none",
        seed: int = 0,
        image: Transform | Image | Apply | Converted | None = None,
        label: Part | None = None,
        views: Views | None = None,
        boxes: Boxes | None = None,
        masks: Masks | None = None,
        keypoints: Keypoints | None = None,
        mask: Mask | None = None,
        columns: Mapping[str, Part | Annotation] | Sequence[str] | None = None,
        split: str | None = None,
        version: int | None = None,
        rank: int = 0,
        world_size: int = 1,
        divide: Literal["sample", "shard"] = "sample",
        drop_last: bool | Literal["pad", "uneven"] = False,
        num_threads: int | None = None,
        prefetch: int = 4,
        memory_limit: str | None = None,
        device: object = None,
        device_slots: int = 3,
        resident: Resident | str | None = None,
        on_bad: Literal["error", "skip", "substitute"] = "error",
        bad_budget: int = 1000,
        verify: Literal["off", "sampled", "all"] | None = None,
        source: Literal["file", "mapped", "threads"] = "file",
        buffer_size: int = 10000,
        block_size: int = 256,
        window: int = 64,
        exclude: Path | Sequence[Path] | None = None,
        skip: int = 0,
        take: int | None = None,
        repeat: int = 1,
        epoch_length: int | None = None,
        deliver: Literal["batch", "tuple", "dict"] = "batch",
        collate: Callable[[Any], Any] | None = None,
        select: Selecting | None = None,
        weights: Numbers | Mapping[int, int] | None = None,
        classes: Numbers | Mapping[str, int] | None = None,
        storage: Mapping[str, object] | None = None,
        cache: str | int | None = None,
        keep_transforms: bool = False,
        mosaic: Mosaic | None = None,
        copy_paste: CopyPaste | None = None,
        mix: Mix | None = None,
    ) -> Self: ...
    @property
    def _arguments(self) -> tuple[Any, dict[str, Any]]: ...
    def set_epoch(self, epoch: int) -> None: ...
    def epoch(self, epoch: int) -> Epoch: ...
    def __iter__(self) -> Epoch: ...
    def __len__(self) -> int: ...
    def steps_of(self, epoch: int) -> int: ...
    @property
    def current_epoch(self) -> int: ...
    @property
    def selection(self) -> Selection | None: ...
    @property
    def resident(self) -> dict[str, int] | None: ...
    def preload(self, progress: Callable[[int, int], object] | None = None) -> None: ...
    @property
    def classes(self) -> dict[int, str] | None: ...
    @property
    def objects(self) -> dict[str, Any] | None: ...
    @property
    def samples(self) -> int: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
    def ledger(self) -> Ledger: ...
    def expected(self, epoch: int) -> Ledger: ...
    def stats(self) -> Stats: ...
    def bad_samples(self) -> list[dict[str, Any]]: ...
    def write_bad_samples(self, path: Path) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Work:
    """A running job of `tarflume.pack` in threads of Rust: packing, verifying or indexing."""

    def wait(self, seconds: float) -> bool: ...
    def stop(self) -> None: ...
    def progress(self) -> dict[str, Any]: ...
    def result(self) -> Any: ...

@final
class Writer:
    """The compiled part of `tarflume.ShardWriter`: writes parts, given as bytes, to shards."""

    def __new__(
        cls,
        out: Path,
        *,
        shard_size: int | str | None = None,
        max_samples: int | None = None,
        prefix: str = "shard",
        names: str = "",
        check: str = "structure",
        json_rules: str = "strict",
        entry_points: bool = True,
        fsync: bool = True,
        fresh: bool = False,
        compress: str | None = None,
        columns: str | None = None,
        storage: dict[str, object] | None = None,
        single_writer: bool = False,
    ) -> Self: ...
    def write(self, key: str, parts: Sequence[tuple[str, bytes]]) -> None: ...
    @property
    def samples(self) -> int: ...
    @property
    def notices(self) -> list[str]: ...
    @property
    def irregular_jpegs(self) -> dict[str, Any]: ...
    @property
    def is_closed(self) -> bool: ...
    def finish(self) -> dict[str, Any]: ...
    def abandon(self) -> tuple[int, int, str]: ...

def draw_actions(
    recipe: str, seed: int, height: int, width: int, channels: int, boxes: bytes | None = None
) -> str: ...
def move_annotations(
    actions: str, kind: str, numbers: bytes, height: int, width: int
) -> tuple[tuple[int, int], bytearray, bytearray]: ...
def mask_actions(actions: str, fill: int) -> str: ...
def mirrors(actions: str) -> bool: ...
def kept_boxes(
    kind: str,
    boxes: bytes,
    visible: bytes,
    height: int,
    width: int,
    min_size: float,
    min_area: float,
    min_visibility: float,
) -> bytearray: ...
def sample_seed(seed: int, epoch: int, ordinal: int, /) -> int: ...
def draw_many(
    recipe: str, first: int, count: int, height: int, width: int, channels: int, boxes: bytes | None = None
) -> str: ...
def apply_actions(
    actions: str, pixels: bytes, height: int, width: int, channels: int
) -> tuple[tuple[int, int], bytearray]: ...
def apply_recipe(
    recipe: str, seed: int, pixels: bytes, height: int, width: int, channels: int
) -> tuple[tuple[int, int], bytearray]: ...
def pack_build(
    sources: Sequence[Path],
    out: Path,
    *,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    shards: int | None = None,
    prefix: str | None = None,
    shuffle: int | None = None,
    require: str | None = None,
    label: str | None = None,
    classes: Path | None = None,
    split: str | None = None,
    stratify: str | None = None,
    split_by: str | None = None,
    split_list: str | None = None,
    split_group: str | None = None,
    ext_map: str | None = None,
    ext_by_content: bool = False,
    names: str | None = None,
    exclude: Sequence[str] = ...,
    ignore_zeros: bool = False,
    join: list[str] = ...,
    coco: list[str] = ...,
    yolo: str | None = None,
    yolo_names: Path | None = None,
    voc: str | None = None,
    annotations: str | None = None,
    pair: Sequence[str] = ...,
    group: str | None = None,
    follow_links: bool = False,
    entry_points: bool = True,
    dedupe: bool = False,
    limit: int | None = None,
    check: str | None = None,
    on_problem: str = "fail",
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    compress: str | None = None,
    columns: str | None = None,
    keep_empty: Sequence[str] = ...,
    json_rules: str | None = None,
    storage: dict[str, object] | None = None,
    single_writer: bool = False,
    objects: bool = False,
    provenance: Sequence[str] = ...,
) -> Work: ...
def pack_reshard(
    sources: Sequence[Path],
    out: Path,
    *,
    conditions: Sequence[str] = ...,
    keys: Path | None = None,
    exclude: Sequence[str] = ...,
    parts: Sequence[str] = ...,
    drop: Sequence[str] = ...,
    rename: str = "",
    key_prefix: Sequence[str] = ...,
    shards: int | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str | None = None,
    shuffle: int | None = None,
    split: str | None = None,
    stratify: str | None = None,
    split_by: str | None = None,
    split_list: str | None = None,
    split_group: str | None = None,
    names: str = "allow",
    dedupe: bool = False,
    limit: int | None = None,
    check: str | None = None,
    on_problem: str = "fail",
    entry_points: bool = True,
    compress: str | None = None,
    columns: str | None = None,
    json_rules: str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    storage: dict[str, object] | None = None,
    single_writer: bool = False,
    key_by: str = "first-dot",
    ignore_zeros: bool = False,
    provenance: Sequence[str] = ...,
) -> Work: ...
def pack_append(
    sources: Sequence[Path],
    out: Path,
    *,
    exclude: Sequence[str] = ...,
    join: list[str] = ...,
    coco: list[str] = ...,
    yolo: str | None = None,
    yolo_names: Path | None = None,
    voc: str | None = None,
    annotations: str | None = None,
    pair: Sequence[str] = ...,
    split_list: str | None = None,
    on_problem: str = "fail",
    jobs: int | None = None,
    fresh: bool = False,
    dry_run: bool = False,
    provenance: Sequence[str] = ...,
) -> Work: ...
def pack_verify(
    paths: Sequence[Path],
    *,
    level: str | None = None,
    require: Sequence[str] | None = None,
    profiles: Sequence[str] = ...,
    schemas: Sequence[str] = ...,
    json_rules: str | None = None,
    jobs: int | None = None,
    storage: dict[str, object] | None = None,
    ignore_zeros: bool = False,
    require_checksums: bool = False,
    objects: bool = False,
    signed_by: Sequence[str] = ...,
    sample: str | None = None,
    seed: int = 0,
    slice: str | None = None,
    time_budget: float | None = None,
    cache: Path | None = None,
    changed_since: str | None = None,
    manifest_only: bool = False,
    unique: Sequence[str] = ...,
    policy: Path | None = None,
    select: Sequence[str] = ...,
    ignore: Sequence[str] = ...,
    baseline: Path | None = None,
) -> Work: ...
def pack_sign(folder: Path, *, key: Path, password: str | None = None) -> dict[str, str]: ...
def pack_repair(
    folder: Path,
    sources: Sequence[Path],
    *,
    root: str | None = None,
    dry_run: bool = False,
    jobs: int | None = None,
    storage: dict[str, object] | None = None,
) -> Work: ...
def pack_export(
    path: Path,
    out: Path,
    *,
    to: str,
    parts: Sequence[str] | None = None,
    json: str | None = None,
    numbers: str = "exact",
    json_rules: str | None = None,
    encodings: Sequence[tuple[str, str]] = ...,
    shard_size: int | str | None = None,
    jobs: int | None = None,
    fsync: bool = True,
    storage: dict[str, object] | None = None,
    names: str | None = None,
    ignore_zeros: bool = False,
) -> Work: ...
def pack_index(
    paths: Sequence[Path],
    *,
    headers: bool = False,
    entry_points: bool = False,
    columns: str | None = None,
    json_rules: str | None = None,
    split_by: str | None = None,
    force: bool = False,
    accept_edits: bool = False,
    allow_missing_end: bool = False,
    jobs: int | None = None,
    storage: dict[str, object] | None = None,
    ignore_zeros: bool = False,
) -> Work: ...
@final
class Chats:
    def __new__(
        cls,
        *,
        messages: str | None = None,
        prompt: str | None = None,
        response: str | None = None,
        alpaca: bool = False,
        tools: str | None = None,
        chat_template: Path | None = None,
        template_name: str | None = None,
        template_variables: str | None = None,
        template_date: str | None = None,
        mask_prompt: str | None = None,
    ) -> Self: ...

@final
class FittedLengths:
    def __new__(
        cls,
        *,
        max_length: int | None = None,
        truncate: str = "right",
        drop_longer: bool = False,
        min_length: int | None = None,
    ) -> Self: ...

def pack_tokens(
    sources: Sequence[Path],
    out: Path,
    length: int | None = None,
    *,
    chats: Chats,
    lengths: FittedLengths,
    tokenizer: Path | None = None,
    encode: Callable[[list[str]], Iterable[Any]] | None = None,
    fingerprint: str | None = None,
    vocabulary: int | None = None,
    pack: str | None = None,
    window: int | None = None,
    eos: str | None = None,
    pad: str | None = None,
    condition: str | None = None,
    dtype: str | None = None,
    text_field: str = "text",
    text_part: str = "txt",
    per_line: bool = False,
    special_tokens: bool = False,
    split_special_tokens: bool = False,
    bad_budget: int | None = None,
    cache: Path | None = None,
    unit: int | str | None = None,
    shard_size: int | str | None = None,
    shard_samples: int | None = None,
    prefix: str = "shard",
    fsync: bool = True,
    jobs: int | None = None,
    fresh: bool = False,
    ignore_zeros: bool = False,
    compress: str | None = None,
) -> Work: ...
def pack_command(words: Sequence[str]) -> int: ...
