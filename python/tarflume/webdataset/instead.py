"""Replaces webdataset by this package, for programs that also import modules of webdataset.

    import tarflume.webdataset.instead as wds             # instead of: import webdataset as wds
    from webdataset.filters import _shuffle               # unchanged: imports from this package
    from webdataset.tariterators import url_opener

The import returns the package itself. After it, `import webdataset` and its modules return this package in the whole
process, also in libraries. webdataset need not be installed. The import must come before the first one of webdataset.
"""

from __future__ import annotations

import sys

from .. import webdataset as ours
from ..errors import UsageError
from . import cache, decoding, filters, handlers, mixing, pipeline, shardlists, tariterators, tenbin, utils, writing

__all__: list[str] = []

#: Modules of webdataset, and those of this package that replace them.
MODULES = {
    "autodecode": decoding,
    "cache": cache,
    "compat": ours,
    "extradatasets": mixing,
    "filters": filters,
    "gopen": sys.modules[f"{ours.__name__}.gopen"],  # the package has a function of this name
    "handlers": handlers,
    "mix": mixing,
    "pipeline": pipeline,
    "shardlists": shardlists,
    "tariterators": tariterators,
    "tenbin": tenbin,
    "utils": utils,
    "writer": writing,
}


def _stand_in() -> None:
    theirs = sys.modules.get("webdataset")
    if theirs is not None and theirs is not ours:
        raise UsageError(
            "webdataset was imported before tarflume.webdataset.instead: import this first, or import "
            "tarflume.webdataset and change the other imports, too"
        )
    sys.modules["webdataset"] = ours
    for name, module in MODULES.items():
        sys.modules[f"webdataset.{name}"] = module
        sys.modules.setdefault(f"{ours.__name__}.{name}", module)  # `from webdataset import autodecode`


_stand_in()
# The result of `import ... as wds`.
sys.modules[__name__] = ours
