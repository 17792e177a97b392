"""Packs of tokens, as docs/PACKS.md has them: the tokens of each pack, attention bounds, and resumes on other world sizes."""

from __future__ import annotations

import pathlib
import pickle

import numpy as np
import pytest

import tarflume

WIDTH = 64


def length_of(n: int) -> int:
    return n * 37 % 61


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """200 samples of 0 to 60 ids, with the number of them, in 2 shards."""
    root = tmp_path_factory.mktemp("texts") / "shards"
    with tarflume.ShardWriter(root, max_samples=100) as writer:
        for n in range(200):
            ids = np.arange(length_of(n), dtype=np.uint32) + 100 * n
            writer.write({"__key__": f"{n:03}", "ids.npy": ids, "json": {"tokens": length_of(n)}})
    return root


def loader_of(texts: pathlib.Path, **settings) -> tarflume.Loader:
    columns = tarflume.token_columns(WIDTH, labels=True, position_ids=True, segment_ids=True, padding=7)
    settings = {"pack": tarflume.Pack(WIDTH, "/tokens", window=50), "batch_size": 4, "shuffle": "full", "seed": 3} | settings
    return tarflume.Loader(texts, columns=columns, **settings)


def packs_of(batch: tarflume.Batch) -> list[list[int]]:
    pack_of_row, ordinals = np.asarray(batch.pack_of_row), np.asarray(batch.ordinals)
    padding = np.array(batch.padding)
    packs = [ordinals[(pack_of_row == n) & ~padding].tolist() for n in range(batch.packs)]
    return [pack for pack in packs if pack]


def test_each_pack_has_the_tokens_of_its_samples(texts):
    loader = loader_of(texts)
    seen = []
    for batch in loader.epoch(0):
        ids, positions = np.asarray(batch["input_ids"]), np.asarray(batch["position_ids"])
        assert ids.shape == positions.shape == (batch.packs, WIDTH)
        pack_of_row, ordinals = np.asarray(batch.pack_of_row), np.asarray(batch.ordinals)
        for pack in range(batch.packs):
            own = ordinals[pack_of_row == pack]
            wanted = np.concatenate([100 * n + np.arange(length_of(int(n))) for n in own])
            assert len(wanted) <= WIDTH
            np.testing.assert_array_equal(ids[pack, : len(wanted)], wanted)
            assert (ids[pack, len(wanted) :] == 7).all()
            wanted = np.concatenate([np.arange(length_of(int(n))) for n in own])
            np.testing.assert_array_equal(positions[pack, : len(wanted)], wanted)
        bounds = batch.cu_seqlens()
        segments = np.asarray(batch["segment_ids"]).ravel()
        starts = np.flatnonzero(np.diff(segments, prepend=-1) | (np.arange(len(segments)) % WIDTH == 0))
        assert bounds == [*starts.tolist(), len(segments)]
        torch = pytest.importorskip("torch")
        import tarflume.torch

        assert tarflume.torch.cu_seqlens(torch.from_numpy(segments.reshape(-1, WIDTH).copy())).tolist() == bounds
        seen += [n for pack in packs_of(batch) for n in pack]
    assert sorted(seen) == list(range(200))
    packs = loader.stats()["packs"]
    assert packs["tokens"] == sum(map(length_of, range(200))) and packs["samples"] == 200 and packs["too_long"] == 0
    assert packs["filled"] == packs["tokens"] / (packs["packs"] * WIDTH) > 0.9


def test_a_resume_by_other_ranks_goes_on_with_the_same_packs(texts):
    whole = [pack for batch in loader_of(texts) for pack in packs_of(batch)]
    begun = [loader_of(texts, rank=rank, world_size=4, batch_size=2) for rank in range(4)]
    batches = [[batch for _, batch in zip(range(2), loader.epoch(0))] for loader in begun]
    packs = [pack for step in zip(*batches) for batch in step for pack in packs_of(batch)]
    state = pickle.loads(pickle.dumps(begun[2].state_dict()))
    resumed = [loader_of(texts, rank=rank, world_size=3, batch_size=3) for rank in range(3)]
    for loader in resumed:
        loader.load_state_dict(state)
    rest = [list(loader.epoch(0)) for loader in resumed]
    assert len({len(batches) for batches in rest}) == 1, "equal steps"
    packs += [pack for step in zip(*rest) for batch in step for pack in packs_of(batch)]
    assert packs == whole
    ledger = begun[0].ledger()
    for loader in begun[1:] + resumed:
        ledger = ledger.merge(loader.ledger())
    assert ledger == begun[0].expected(0)


def test_a_state_of_other_packs_is_refused(texts):
    loader = loader_of(texts)
    next(iter(loader.epoch(0)))
    state = loader.state_dict()
    with pytest.raises(tarflume.Error, match="other packs"):
        loader_of(texts, pack=tarflume.Pack(WIDTH, "/tokens", window=51)).load_state_dict(state)
    with pytest.raises(tarflume.Error, match="with packs"):
        tarflume.Loader(texts, shuffle="full", seed=3).load_state_dict(state)


def test_long_samples_are_an_error_left_out_or_cut(texts):
    columns = tarflume.token_columns(32)
    with pytest.raises(tarflume.Error, match=r'longer than the 32 tokens.*too_long="skip"'):
        tarflume.Loader(texts, columns=columns, pack=tarflume.Pack(32, "/tokens"))
    long = sum(length_of(n) > 32 for n in range(200))
    for too_long, delivered in [("skip", 200 - long), ("cut", 200)]:
        pack = tarflume.Pack(32, "/tokens", too_long=too_long)
        loader = tarflume.Loader(texts, columns=columns, pack=pack, batch_size=4)
        assert sum(len(pack) for batch in loader for pack in packs_of(batch)) == delivered
        assert loader.stats()["packs"]["too_long"] == long


def test_what_is_no_pack_is_refused(texts):
    with pytest.raises(tarflume.Error, match=r"pack= takes tarflume.Pack\(max_tokens=4096"):
        loader_of(texts, pack=4096)
    with pytest.raises(tarflume.Error, match="samples that are too long 'drop' is not known; there are error, skip, cut"):
        loader_of(texts, pack=tarflume.Pack(WIDTH, "/tokens", too_long="drop"))  # type: ignore[arg-type]
    with pytest.raises(tarflume.Error, match="128 tokens in packs of 64"):
        tarflume.Loader(texts, columns=tarflume.token_columns(128), pack=tarflume.Pack(WIDTH, "/tokens"))
    with pytest.raises(tarflume.Error, match="buckets or in packs"):
        loader_of(texts, bucket=tarflume.Buckets.length("/tokens", [61]))


def test_attention_over_a_pack_sees_no_other_sample(texts):
    """Logits of a tiny causal model over a pack are those of each sample alone."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    embed = torch.nn.Embedding(20_100, 16)
    query, key, value = (torch.nn.Linear(16, 16, bias=False) for _ in range(3))

    def attend(ids, mask):
        x = embed(ids)
        return torch.nn.functional.scaled_dot_product_attention(query(x), key(x), value(x), attn_mask=mask)

    columns = tarflume.token_columns(WIDTH, segment_ids=True)
    pack = tarflume.Pack(WIDTH, "/tokens")
    loader = tarflume.torch.Loader(texts, columns=columns, pack=pack, batch_size=4, shuffle="full", seed=1)
    batch = next(iter(loader.epoch(0)))
    segments = batch["segment_ids"]
    past = torch.ones(WIDTH, WIDTH, dtype=torch.bool).tril()
    mask = (segments[:, :, None] == segments[:, None, :]) & past
    packed = attend(batch["input_ids"], mask)
    for row, (ids, numbers) in enumerate(zip(batch["input_ids"], segments)):
        for number in range(1, int(numbers.max()) + 1):
            own = numbers == number
            alone = attend(ids[own][None], past[: own.sum(), : own.sum()])
            torch.testing.assert_close(packed[row][own], alone[0])
