"""This package in the place of webdataset, for programs that also import webdataset's own modules.

    import tarflume.webdataset.instead as wds             # was: import webdataset as wds
    from webdataset.filters import _shuffle               # stays: it is this package's
    from webdataset.tariterators import url_opener

The import is the package itself, and from then on `import webdataset` and its modules give this package's in the whole
process, also in libraries. webdataset need not be installed. It must come before the first import of webdataset.
"""

from __future__ import annotations

import sys

from .. import webdataset as ours
from ..errors import UsageError
from . import decoding, filters, handlers, mixing, pipeline, shardlists, tariterators, tenbin, utils, writing

__all__: list[str] = []

#: webdataset's modules, and what they are here.
MODULES = {
    "autodecode": decoding,
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
# What `import ... as wds` gives.
sys.modules[__name__] = ours
