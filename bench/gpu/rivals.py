"""What is measured beside us in `training`: PyTorch's DataLoader over the same pictures as files, and the side-stream
prefetcher that tutorials put around it. Both want torchvision."""
import pathlib

import torch
import torch.utils.data
import torchvision
from torchvision.transforms import v2


class Files(torch.utils.data.Dataset):
    """Pictures in a folder, gone through `times` times in an epoch; decoded, cut, flipped: uint8 [3, side, side]."""

    def __init__(self, folder, side, times):
        self.paths = [str(path) for path in sorted(pathlib.Path(folder).glob("*.jpg"))] * times
        self.transform = v2.Compose([v2.RandomResizedCrop(side, antialias=True), v2.RandomHorizontalFlip(0.5)])

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, n):
        encoded = torchvision.io.read_file(self.paths[n])
        return self.transform(torchvision.io.decode_jpeg(encoded, mode=torchvision.io.ImageReadMode.RGB))


def dataloader(x, batches, workers):
    """Iterates over batches on the device, copied on the stream that computes."""
    made = plain(x, batches, workers)
    return (batch.to(x.place.device, non_blocking=True) for batch in made)


def plain(x, batches, workers):
    batch = x.sizes["batch"]
    times = 1 + batch * batches // x.data["picture_count"]
    return torch.utils.data.DataLoader(
        Files(x.data["files"], x.sizes["side"], times), batch_size=batch, shuffle=True, drop_last=True,
        num_workers=workers, pin_memory=not x.place.dry, prefetch_factor=2 if workers else None)


class Prefetcher:
    """A batch ahead on a side stream. The weak points of the tutorials' are kept (see docs/GPU.md), but the end."""

    def __init__(self, x, batches, workers):
        self.loader, self.x = iter(plain(x, batches, workers)), x
        self.stream = None if x.place.dry else torch.cuda.Stream()
        self.preload()

    def preload(self):
        self.batch = next(self.loader, None)
        if self.batch is not None:
            with torch.cuda.stream(self.stream):
                self.batch = self.batch.to(self.x.place.device, non_blocking=True)

    def __iter__(self):
        return self

    def __next__(self):
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
        batch = self.batch
        if batch is None:
            raise StopIteration
        self.preload()
        return batch
