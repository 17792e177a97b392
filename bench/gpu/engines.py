"""Part `engines`: libnvjpeg alone, without the loader: what decoding costs by the number of pictures in a call, what a
call costs beside decoding, and which pixels it gives at reduced scales.

Reduced pictures are compared with four ways to reduce: libjpeg's smaller inverse transform (Pillow's `draft`), the mean
of each block of the picture in full size, and every second, fourth or eighth pixel of it, from the first or the middle
one on.
"""
import ctypes
import io
import pathlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from data import photographs

#: Numbers of nvjpeg.h.
HARDWARE = 3
FLAGS = {"interpolated": 1 << 5, "plain": 0}
FORMATS = {"RGBI": 5, "RGB": 3}
COUNTS = (64, 256)
#: Pictures in calls whose number changes from call to call.
CHANGING = (190, 187, 193, 186, 192, 189, 194, 188)


class Image(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


class Failed(RuntimeError):
    pass


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        numbers = [ctypes.c_int() for _ in range(3)]
        for which, number in enumerate(numbers):
            self.call("nvjpegGetProperty", which, ctypes.byref(number))
        self.version = ".".join(str(number.value) for number in numbers)

    def call(self, name, *words):
        status = getattr(self.library, name)(*words)
        if status:
            raise Failed(f"{name} gave {status}")

    def made(self, name, *words):
        made = ctypes.c_void_p()
        self.call(name, *words, ctypes.byref(made))
        return made


class Decoder:
    """One handle with one state."""

    def __init__(self, library, flags, form):
        self.library, self.form = library, form
        self.handle = library.made("nvjpegCreateEx", HARDWARE, None, None, ctypes.c_uint(flags))
        self.state = library.made("nvjpegJpegStateCreate", self.handle)
        self.params = [library.made("nvjpegDecodeParamsCreate", self.handle) for _ in range(4)]
        for scale, params in enumerate(self.params):
            library.call("nvjpegDecodeParamsSetOutputFormat", params, FORMATS[form])
            if scale:
                library.call("nvjpegDecodeParamsSetScaleFactor", params, scale)

    def initialize(self, count):
        self.library.call("nvjpegDecodeBatchedInitialize", self.handle, self.state, count, 1, FORMATS[self.form])

    def decode(self, jpegs, outputs, scale=0):
        """One call; `outputs` are tensors uint8 [rows, columns, 3] on the device."""
        count = len(jpegs)
        data, lengths = (ctypes.c_char_p * count)(*jpegs), (ctypes.c_size_t * count)(*map(len, jpegs))
        images = (Image * count)()
        for image, output in zip(images, outputs, strict=True):
            rows, columns, _ = output.shape
            if self.form == "RGBI":
                image.channel[0], image.pitch[0] = output.data_ptr(), 3 * columns
            else:
                for n in range(3):
                    image.channel[n], image.pitch[n] = output.data_ptr() + n * rows * columns, columns
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if scale:
            params = (ctypes.c_void_p * count)(*[self.params[scale].value] * count)
            self.library.call("nvjpegDecodeBatchedEx", self.handle, self.state, data, lengths, images, params, stream)
        else:
            self.library.call("nvjpegDecodeBatched", self.handle, self.state, data, lengths, images, stream)

    def supported(self, jpeg, parser, scale=0):
        answer = ctypes.c_int(-1)
        self.library.call("nvjpegJpegStreamParse", self.handle, jpeg, ctypes.c_size_t(len(jpeg)), 0, 0, parser)
        self.library.call("nvjpegDecodeBatchedSupportedEx", self.handle, parser, self.params[scale], ctypes.byref(answer))
        return answer.value == 0


def libraries():
    """Files of libnvjpeg: of packages on the path of Python, and of the system."""
    found = [path for folder in sys.path if folder for path in pathlib.Path(folder).glob("nvidia/*/lib/libnvjpeg.so.*")]
    found += sorted(pathlib.Path("/usr/local").glob("cuda/targets/*/lib/libnvjpeg.so.1?"))
    return found


def size(jpeg):
    import PIL.Image
    width, height = PIL.Image.open(io.BytesIO(jpeg)).size
    return height, width


def room(jpegs, scale=0):
    return [torch.zeros((-(-rows // (1 << scale)), -(-columns // (1 << scale)), 3), dtype=torch.uint8, device="cuda")
            for rows, columns in map(size, jpegs)]


def timed(run):
    begun = time.perf_counter()
    run()
    called = time.perf_counter()
    torch.cuda.synchronize()
    return 1e3 * (called - begun), 1e3 * (time.perf_counter() - begun)


def speeds(say, name, decoder, jpegs):
    """Milliseconds of calls, and pictures a second, by the number of pictures in a call."""
    for count in COUNTS:
        some = jpegs[:count]
        outputs = room(some)
        decoder.initialize(count)
        runs = [timed(lambda: decoder.decode(some, outputs)) for _ in range(6)][1:]
        say(f"{name}, {count} pictures a call", call_ms=[run[0] for run in runs], done_ms=[run[1] for run in runs],
            images_s=[1e3 * count / run[1] for run in runs])
    outputs = room(jpegs[:max(CHANGING)])
    ready, whole = [], []
    for count in CHANGING:
        ready.append(timed(lambda: decoder.initialize(count))[1])
        whole.append(timed(lambda: decoder.decode(jpegs[:count], outputs[:count]))[1])
    say(f"{name}, about 190 pictures a call, another number each time", ready_ms=ready, done_ms=whole,
        images_s=[1e3 * count / (a + b) for count, a, b in zip(CHANGING, ready, whole, strict=True)])


def questions(say, name, decoder, jpegs):
    """Microseconds of asking whether a picture is supported, by one thread and by eight."""
    def ask(some):
        parser = decoder.library.made("nvjpegJpegStreamCreate", decoder.handle)
        return sum(decoder.supported(jpeg, parser) for jpeg in some)
    for threads in (1, 8):
        shares = [jpegs[n::threads] for n in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            begun = time.perf_counter()
            taken = sum(pool.map(ask, shares))
            us = 1e6 * (time.perf_counter() - begun)
        say(f"{name}, asked whether it is supported, {threads} threads", us_a_picture=us / len(jpegs), taken=taken)


def reduced(jpeg, full, scale):
    """By name: what the picture is at this scale."""
    import PIL.Image
    step, (rows, columns) = 1 << scale, full.shape[:2]
    picture = PIL.Image.open(io.BytesIO(jpeg))
    picture.draft("RGB", (columns // step, rows // step))
    fit = full[:rows // step * step, :columns // step * step].astype(np.float64)
    means = fit.reshape(rows // step, step, columns // step, step, 3).mean((1, 3))
    return {"draft": np.asarray(picture.convert("RGB"), np.float64), "means": means,
            "every": full[::step, ::step].astype(np.float64),
            "middle": full[step // 2::step, step // 2::step].astype(np.float64)}


def scales(say, name, decoder, jpegs):
    """Each picture alone at each scale."""
    for word, jpeg in jpegs.items():
        decoder.initialize(1)
        full, = room([jpeg])
        decoder.decode([jpeg], [full])
        torch.cuda.synchronize()
        for scale in (1, 2, 3):
            output, = room([jpeg], scale)
            output.fill_(0x5A)
            try:
                parser = decoder.library.made("nvjpegJpegStreamCreate", decoder.handle)
                taken = decoder.supported(jpeg, parser, scale)
                decoder.decode([jpeg], [output], scale)
                torch.cuda.synchronize()
            except Failed as error:
                say(f"{name}, 1/{1 << scale}, {word}", failed=str(error))
                continue
            ours, figures = output.cpu().numpy().astype(np.float64), {}
            for way, right in reduced(jpeg, full.cpu().numpy(), scale).items():
                rows, columns = min(len(ours), len(right)), min(ours.shape[1], right.shape[1])
                apart = np.abs(ours[:rows, :columns] - right[:rows, :columns])
                figures[f"{way}_largest"], figures[f"{way}_mean"] = float(apart.max()), float(apart.mean())
            say(f"{name}, 1/{1 << scale}, {word}", rows=ours.shape[0], columns=ours.shape[1], taken=taken,
                untouched=float((ours == 0x5A).mean()), **figures, raw=ours[:8, :8, 0].tolist())


def full_size(say, name, decoder, jpegs):
    """Each picture in full size beside libjpeg's (Pillow)."""
    import PIL.Image
    for word, jpeg in jpegs.items():
        decoder.initialize(1)
        output, = room([jpeg])
        decoder.decode([jpeg], [output])
        torch.cuda.synchronize()
        ours = output.cpu().numpy()
        if decoder.form == "RGB":
            ours = ours.reshape(3, *ours.shape[:2]).transpose(1, 2, 0)
        apart = np.abs(ours.astype(int) - np.asarray(PIL.Image.open(io.BytesIO(jpeg)).convert("RGB"), int))
        say(f"{name}, full size, {word}", largest=int(apart.max()), mean=float(apart.mean()))


def part(x, say):
    jpegs = [jpeg for jpeg in photographs(x.kit / "photographs") if len(jpeg) <= 160 << 10]
    jpegs = (jpegs * (1 + max(COUNTS) // len(jpegs)))[:max(COUNTS)]
    trials = {path.stem: path.read_bytes() for path in sorted((x.kit / "trial").glob("yuv4*.jpg"))}
    trials |= {f"photograph {n}": jpeg for n, jpeg in enumerate(jpegs[:2])}
    for path in libraries():
        try:
            library = Library(path)
        except (OSError, Failed, AttributeError) as error:
            say(str(path), failed=f"{type(error).__name__}: {error}")
            continue
        for word, flags in FLAGS.items():
            for form in FORMATS:
                name = f"{library.version}, HARDWARE, {word}, {form}"
                try:
                    decoder = Decoder(library, flags, form)
                    speeds(say, name, decoder, jpegs)
                    full_size(say, name, decoder, trials)
                    if form == "RGBI":
                        questions(say, name, decoder, jpegs)
                        scales(say, name, decoder, trials)
                except Failed as error:
                    say(name, failed=str(error))
