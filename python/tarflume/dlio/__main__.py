"""`python -m tarflume.dlio`: makes DLIO's data folder and prints the words of its command line."""

from __future__ import annotations

import argparse
import sys

from .folder import PARTS, data_folder


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tarflume.dlio",
        description="Makes a data folder that DLIO accepts for these shards, and prints the words of DLIO's command line.",
    )
    parser.add_argument("shards", help="folder or URL of the shards")
    parser.add_argument("folder", help="data folder to make")
    parser.add_argument("format", choices=PARTS)
    given = parser.parse_args()
    print("\n".join(data_folder(given.shards, given.folder, given.format)))
    print(f"TARFLUME_SHARDS={given.shards} in the environment names the shards for the loader", file=sys.stderr)


if __name__ == "__main__":
    main()
