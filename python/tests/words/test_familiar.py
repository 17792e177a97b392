"""The loop that people know from PyTorch: tuples, collating, samples by key, what objects look like, and errors that name what
to write."""

from __future__ import annotations

import base64
import html.parser
import io
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

import tarflume
from conftest import n_of, pack, picture
from patience import PATIENCE_S
from tarflume import errors


def loader(shards, **settings):
    return tarflume.Loader(shards, **({"batch_size": 8, "image": tarflume.Resize(16), "label": "/class"} | settings))


def test_batches_come_as_tuples_in_the_order_of_the_columns(shards):
    columns = {"name": tarflume.Json("/name", text=True)}
    with loader(shards, deliver="tuple", columns=columns) as ours:
        seen = 0
        for images, labels, names in ours:
            assert np.asarray(images).shape[1:] == (16, 16, 3) and len(names) == len(images)
            assert np.asarray(labels).tolist() == [n % 10 for n in range(seen, seen + len(labels))]
            seen += len(labels)
        assert seen == 100
        ours.ledger().prove(ours.expected(0))


def test_batches_come_as_dicts_with_the_keys(shards):
    with loader(shards, deliver="dict") as ours:
        batch = next(ours.epoch(0))
    assert type(batch) is dict and list(batch) == ["image", "label", "key"] and batch["key"][3] == "0003"


def test_collate_gets_each_batch_and_its_result_is_delivered(shards):
    with loader(shards, deliver="tuple", collate=lambda batch: np.asarray(batch[1]).sum()) as ours:
        assert sum(ours) == sum(n % 10 for n in range(100))
        assert ours.stats()["stages"]["transform"]["items"] == 13
    with loader(shards, collate=n_of) as ours:
        assert [n for batch in ours for n in batch] == list(range(100))


def test_an_error_in_collate_names_the_function_and_the_batch(shards):
    def bad_one(batch):
        raise ZeroDivisionError("labels")

    with loader(shards, collate=bad_one) as ours, pytest.raises(ZeroDivisionError, match="labels") as caught:
        next(ours.epoch(3))
    note = "in collate=test_an_error_in_collate_names_the_function_and_the_batch.<locals>.bad_one"
    assert caught.value.__notes__ == [f"{note}, called with batch 0 of epoch 3"]
    with pytest.raises(errors.UsageError, match="collate= takes a function of a batch, not 3"):
        loader(shards, collate=3)
    with pytest.raises(errors.UsageError, match='deliver="list" is not known; there are "batch", "tuple", "dict"'):
        loader(shards, deliver="list")


def test_torch_delivers_tuples_of_tensors(shards):
    torch = pytest.importorskip("torch")
    words = {"batch_size": 8, "image": tarflume.Resize(16), "label": "/class"}
    with tarflume.torch.Loader(shards, deliver="tuple", **words) as ours:
        for images, labels in ours:
            assert images.dtype == torch.uint8 and labels.dtype == torch.int64 and len(images) == len(labels)
    with tarflume.torch.Loader(shards, deliver="tuple", collate=lambda pair: pair[1].sum(), **words) as ours:
        assert sum(ours).item() == 450
        assert ours.stats()["stages"]["transform"]["items"] == 13
    halves = tarflume.torch.Loader(shards, transform=lambda batch: batch | {"label": -batch["label"]}, deliver="tuple", **words)
    assert next(iter(halves))[1].tolist() == [-n for n in range(8)]
    with pytest.raises(errors.UsageError, match="return the tuple"):
        next(iter(tarflume.torch.Loader(shards, transform=lambda batch: 3, deliver="tuple", **words)))

    def broken(batch):
        return batch["picture"]

    with pytest.raises(KeyError, match="picture") as caught:
        next(iter(tarflume.torch.Loader(shards, collate=broken, **words)))
    assert "broken, called with batch 0 of epoch 0" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("num_workers", "num_threads= is the number of its threads"),
        ("persistent_workers", "leave it out"),
        ("worker_init_fn", "seed= determines all random numbers"),
        ("prefetch_factor", "did you mean prefetch=?"),
        ("batch_sampler", "batch_size= and drop_last= determine the batches"),
        ("sampler", "weights= how often each class comes"),
        ("collate_fn", 'deliver="tuple" makes tuples'),
        ("pin_memory", "tarflume.torch.Loader takes pin_memory="),
    ],
)
def test_keywords_of_a_dataloader_are_answered_with_what_to_write(shards, keyword, text):
    with pytest.raises(errors.UsageError) as caught:
        tarflume.Loader(shards, **{keyword: 2})
    assert text in str(caught.value)


@pytest.mark.parametrize("keyword", ["num_workers", "pin_memory", "sampler", "collate_fn", "deliver"])
def test_a_data_set_sends_keywords_to_where_they_belong(shards, keyword):
    pytest.importorskip("torch")
    with pytest.raises(errors.UsageError) as caught:
        tarflume.torch.Dataset(shards, batch_size=8, **{keyword: 2})
    assert f"tarflume.torch.Dataset takes no {keyword}=; " in str(caught.value)


def test_a_loader_in_a_dataloader_is_told_what_to_use(shards):
    torch = pytest.importorskip("torch")
    for ours in (loader(shards), tarflume.torch.Loader(shards, batch_size=8, label="/class")):
        with pytest.raises(errors.UsageError, match=r"iterate over .*Loader itself, or put a tarflume.torch.Dataset"):
            next(iter(torch.utils.data.DataLoader(ours)))


def test_samples_by_key_by_number_and_by_slice(shards):
    data = tarflume.Dataset(shards)
    assert data["0042"] == data[42] == data[-58] == data.find("0042") == data[b"0042"]
    assert [sample["__key__"] for sample in data[10:20:3]] == ["0010", "0013", "0016", "0019"]
    assert [sample["__key__"] for sample in data[:-98]] == ["0000", "0001"] and data[200:] == []
    assert data[np.int64(7)]["__key__"] == "0007"
    assert "0099" in data and "0100" not in data and 3 not in data
    with pytest.raises(KeyError, match="none"):
        data["none"]
    with pytest.raises(TypeError, match="the number of a sample, its key, or a slice, not 1.5"):
        data[1.5]
    with pytest.raises(IndexError):
        data[100]


def test_objects_show_what_they_are(shards, tmp_path):
    data = tarflume.Dataset(shards)
    assert repr(data) == f"Dataset(100 samples, 4 shards in {shards})"
    sample = repr(data[3])
    assert sample.startswith("Sample('0003', {jpg: ") and " bytes, json: '{\"class\": 3, " in sample
    with loader(shards, shuffle=True, seed=4) as ours:
        text = "Loader(100 samples an epoch, rank 0 of 1; batches of 8, shuffle full, seed 4, columns image, label)"
        assert repr(ours) == text
        epoch = ours.epoch(2)
        assert repr(epoch) == "Epoch(2, 13 batches left, 0 samples taken)"
        batch = next(epoch)
        assert repr(epoch) == "Epoch(2, 12 batches left, 8 samples taken)" and epoch.samples == 8
        columns = "image uint8 [8, 16, 16, 3], label int64 [8], key"
        assert repr(batch) == f"Batch(8 rows of epoch 2, step 0: {columns})"
        stats = ours.stats()
        assert repr(stats) == str(stats) and stats["verdict"] in repr(stats)
    parts = next(iter(tarflume.Loader(shards, batch_size=4, columns={"text": tarflume.Text("json"), "jpg": "jpg"})))
    assert repr(parts).endswith("text str, jpg uint8 of different lengths, key)")


class Page(html.parser.HTMLParser):
    """The pictures, the texts and the names of all elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pictures, self.texts, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        source = dict(attrs).get("src")
        if source:
            kind, data = re.fullmatch(r"data:image/(\w+);base64,(.*)", source).groups()
            self.pictures.append(Image.open(io.BytesIO(base64.b64decode(data, validate=True)), formats=[kind]))

    def handle_data(self, data):
        self.texts.append(data)


def test_a_batch_shows_its_pictures_and_labels(shards):
    page = Page(next(iter(loader(shards, batch_size=20, image=tarflume.Resize((150, 300)))))._repr_html_())
    assert len(page.pictures) == 16 and "and 4 more" in page.texts and "label 3" in page.texts
    assert all(max(picture.size) <= 96 for picture in page.pictures) and page.names == {"div", "code", "img"}
    small = next(iter(loader(shards, batch_size=2)))
    pixels = np.asarray(Page(small._repr_html_()).pictures[1])
    np.testing.assert_array_equal(pixels, np.asarray(small["image"])[1])
    floats = tarflume.Image(tarflume.Resize(16), dtype="float32", layout="chw", mean=[0.5] * 3, std=[0.2] * 3)
    normal = Page(next(iter(loader(shards, batch_size=2, image=floats)))._repr_html_()).pictures[1]
    assert normal.size == (16, 16) and np.corrcoef(np.asarray(normal).ravel(), pixels.ravel())[0, 1] > 0.99
    whole = Page(next(iter(loader(shards, image=tarflume.Image(tarflume.OriginalSize(10_000)), batch_size=3)))._repr_html_())
    assert [picture.size for picture in whole.pictures] == [picture(n).size for n in range(3)]


def test_a_data_set_shows_its_first_samples(shards):
    text = tarflume.Dataset(shards)._repr_html_()
    page = Page(text)
    assert len(page.pictures) == 8 and "0007" in page.texts and "and 92 more" in page.texts and len(text) < 400_000
    one = Page(tarflume.Dataset(shards)[5]._repr_html_())
    assert len(one.pictures) == 1 and one.pictures[0].size == picture(5).size


def test_texts_of_a_page_are_escaped_and_cut(tmp_path):
    pairs = tmp_path / "pairs"
    pairs.mkdir()
    picture(1).save(pairs / "a.jpg")
    (pairs / "a.txt").write_text("<script>alert(1)</script>" + "x" * 3000)
    (pairs / "b.jpg").write_bytes((pairs / "a.jpg").read_bytes())
    (pairs / "b.txt").write_text("<b onload='x'>\u202e&amp;")
    pack("build", pairs, "-o", tmp_path / "shards", "--require", "jpg,txt")
    ours = tarflume.Loader(tmp_path / "shards", batch_size=2, image=tarflume.Resize(8), columns={"t": tarflume.Text("txt")})
    data = tarflume.Dataset(tmp_path / "shards")
    for made in (next(iter(ours)), data, data[0], data[1]):
        page = Page(made._repr_html_())
        assert page.names == {"div", "code", "img"} and not any("\u202e" in text for text in page.texts)
        assert all(len(text) <= 400 for text in page.texts)


def test_a_progress_line_says_rate_and_time_left(shards, capsys):
    events = []
    with loader(shards) as ours:
        assert sum(batch.rows for batch in ours.epoch(1).progress(events.append)) == 100
    assert events[-1]["batches"] == 13 and events[-1]["samples"] == 100 and events[-1]["batches_left"] == 0
    with loader(shards) as ours:
        assert len(list(ours.epoch(1).progress(True))) == 13
    assert re.search(r"epoch 1: 13 of 13 batches, [\d,]+ samples/s, 0:00 left", capsys.readouterr().err)
    with loader(shards) as ours:
        assert len(list(ours.epoch(1).progress())) == 13
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_pictures_and_one_line_of_progress(shards, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    code = f"""
        import tarflume
        loader = tarflume.Loader({str(shards)!r}, batch_size=8, image=tarflume.Resize(16), label="/class")
        batches = list(loader.epoch(0).progress())
        batches[0]
    """
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(textwrap.dedent(code))])
    nbclient.NotebookClient(book, timeout=int(PATIENCE_S), kernel_name="python3").execute()
    shown = [output["data"] for output in book.cells[0].outputs if output.output_type == "display_data"]
    assert len(shown) == 1 and re.match(r"epoch 0: 13 of 13 batches, [\d,]+ samples/s", shown[0]["text/plain"])
    made = [output["data"] for output in book.cells[0].outputs if output.output_type == "execute_result"]
    assert len(Page(made[0]["text/html"]).pictures) == 8 and made[0]["text/plain"].startswith("Batch(8 rows")


def test_modules_are_imported_when_they_are_used(shards):
    code = """if True:
        import sys
        import tarflume
        assert not {"torch", "tarflume.torch", "tarflume.webdataset"} & set(sys.modules)
        assert tarflume.torch.Loader.__name__ == "Loader" and "torch" in dir(tarflume)
        assert tarflume.webdataset.WebDataset
        try:
            tarflume.nothing
        except AttributeError as error:
            print(error)
    """
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "module 'tarflume' has no attribute 'nothing'\n", done.stderr


def test_advice_of_the_order_has_no_words_of_rust(shards):
    wrong = [
        {"shuffle": "buffer", "buffer_size": 0},
        {"shuffle": "blocks", "block_size": 0},
        {"shuffle": "blocks", "block_size": 1 << 40, "window": 1 << 40},
        {"shuffle": "buffer", "weights": [1] * 100},
    ]
    for words in wrong:
        with pytest.raises(errors.UsageError) as caught:
            loader(shards, **words)
        assert not re.search(r"::|\{ |by_shard|\.\.", str(caught.value)), caught.value
    by_shard = loader(shards, divide="shard").state_dict()
    with pytest.raises(errors.StaleError, match='give divide="shard"'):
        loader(shards).load_state_dict(by_shard)
