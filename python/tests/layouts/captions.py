"""Captions and text: several rows of a picture, lists without header."""

from __future__ import annotations

import json

from miniature import Miniature, layout

CAPTIONS = ["A dog runs, fast.", 'Two cats and a "sofa".', "A street at night ."]


@layout("Flickr30k")
def flickr(new: Miniature) -> None:
    rows = ["image_name| comment_number| comment"]
    for image in ("1000092795", "10002456"):
        texts = [f"{text} {image}" for text in CAPTIONS]
        new.expect(new.picture(f"flickr30k_images/{image}.jpg"), comment=texts, comment_number=[0, 1, 2])
        rows += [f"{image}.jpg| {n}| {text}" for n, text in enumerate(texts)]
    new.text("results.csv", rows)


@layout("Flickr8k")
def flickr8k(new: Miniature) -> None:
    rows = ["image,caption"]
    for image in ("1000268201_693b08cb0e", "1001773457_577c3a7d70"):
        texts = [f"A child in a pink dress {n}" for n in range(5)]
        new.expect(new.picture(f"Images/{image}.jpg"), caption=texts)
        rows += [f"{image}.jpg,{text}" for text in texts]
    new.text("captions.txt", rows)


@layout("COCO captions")
def coco_captions(new: Miniature) -> None:
    images, annotations = [], []
    for n in (9, 25):
        new.expect(new.picture(f"val2017/{n:012}.jpg"), caption=[f"a {n}", f"b {n}"], id=n)
        images.append({"id": n, "file_name": f"{n:012}.jpg", "width": 32, "height": 24})
        annotations += [{"id": 100 * n + k, "image_id": n, "caption": f"{word} {n}"} for k, word in enumerate("ab")]
    new.document("captions_val2017.json", {"images": images, "annotations": annotations})


@layout("Words with gt.txt")
def ocr(new: Miniature) -> None:
    lines = []
    for n, word in enumerate(["Hello World", "straße", "7.50"]):
        new.expect(new.picture(f"words/test/word_{n}.png"), text=word)
        lines.append(f"test/word_{n}.png\t{word}")
    new.text("words/gt.txt", lines)


@layout("ICDAR, words")
def icdar(new: Miniature) -> None:
    lines = []
    for n, word in enumerate(["Tiredness", "Genaxis, Theatre", "[06]", '"Tiong', "a\\b", "stra\u00dfe"], 1):
        new.expect(new.picture(f"words/word_{n}.png"), text=word)
        escaped = word.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'word_{n}.png, "{escaped}"')
    new.text("words/gt.txt", "\ufeff" + "".join(f"{line}\r\n" for line in lines))


@layout("Kohya: pictures with texts")
def kohya(new: Miniature) -> None:
    for n in (1, 2):
        text = f"a photo of sks dog, {n}"
        new.text(f"10_sks dog/{n}.txt", text)
        new.expect(new.picture(f"10_sks dog/{n}.jpg"), parts={"txt": text.encode()})


@layout("img2dataset, files")
def img2dataset(new: Miniature) -> None:
    for n in (0, 1):
        key = f"00000/{n:09}"
        picture = new.picture(f"{key}.jpg")
        about = {"url": f"https://example.org/{n}.jpg", "caption": f"a {n}", "status": "success", "key": f"{n:09}"}
        new.document(f"{key}.json", about)
        new.text(f"{key}.txt", f"a {n}")
        new.expect(picture, parts={"txt": f"a {n}".encode()}, caption=f"a {n}", key=None)


@layout("LAION and CC3M, WebDataset")
def cc3m(new: Miniature) -> None:
    from miniature import packed

    for n in (0, 1):
        picture = new.picture(f"x/{n:09}.jpg")
        new.document(f"x/{n:09}.json", {"caption": f"a {n}"})
        new.expect(picture, caption=f"a {n}")
    packed("00000.tar", new.folder / "x")


@layout("Hateful Memes")
def memes(new: Miniature) -> None:
    lines = []
    for n in (42953, 23058):
        new.expect(new.picture(f"img/{n}.png"), id=n, label=int(n == 23058), text="its their character")
        lines.append(json.dumps({"id": n, "img": f"img/{n}.png", "label": int(n == 23058), "text": "its their character"}))
    new.text("train.jsonl", lines)


@layout("Hugging Face imagefolder with metadata")
def imagefolder(new: Miniature) -> None:
    rows = ["file_name,text"]
    for n in (1, 2):
        new.expect(new.picture(f"folder/{n:04}.png"), text=f"golden {n}")
        rows.append(f"{n:04}.png,golden {n}")
    new.text("folder/metadata.csv", rows)


@layout("LJSpeech")
def ljspeech(new: Miniature) -> None:
    lines = []
    for n, text in enumerate(["Printing, in the only sense", 'he said "no"'], 1):
        key = f"LJ001-000{n}"
        new.at(f"LJSpeech-1.1/wavs/{key}.wav").write_bytes(b"RIFF" + bytes([n]) * 40)
        new.expect(None, key=key, parts={"wav": b"RIFF" + bytes([n]) * 40}, text=text, normalized=text.lower())
        lines.append(f"{key}|{text}|{text.lower()}")
    new.text("LJSpeech-1.1/metadata.csv", lines)


@layout("Common Voice")
def common_voice(new: Miniature) -> None:
    lines = ["client_id\tpath\tsentence\tup_votes"]
    for n in (1, 2):
        content = b"ID3" + bytes([n]) * 40
        new.at(f"cv/clips/common_voice_en_{n}.mp3").write_bytes(content)
        new.expect(None, key=f"common_voice_en_{n}", parts={"mp3": content}, sentence=f'Say "{n}"', up_votes=2)
        lines.append(f'a\tcommon_voice_en_{n}.mp3\t"Say ""{n}"""\t2')
    new.text("cv/train.tsv", lines)


@layout("LLaVA instruction tuning")
def llava(new: Miniature) -> None:
    picture = new.picture("coco/train2017/000000033471.jpg")
    turns = [{"from": "human", "value": "<image>\\nWhat is it?"}, {"from": "gpt", "value": "A bus."}]
    rows = [
        {"id": "000000033471", "image": "coco/train2017/000000033471.jpg", "conversations": turns},
        {"id": "000000033471", "image": "coco/train2017/000000033471.jpg", "conversations": turns[::-1]},
        {"id": 7, "conversations": turns[1:]},
    ]
    new.document("llava_v1_5_mix665k.json", rows)
    for n, row in enumerate(rows):
        new.expect(picture if "image" in row else None, key=f"{n:08}", id=str(row["id"]), conversations=row["conversations"])


@layout("Karpathy's splits of COCO")
def karpathy(new: Miniature) -> None:
    images = []
    for n, split in enumerate(["train", "restval", "test"]):
        name = f"COCO_val2014_{n:012}.jpg"
        sentences = [{"raw": f"A man {n}.", "sentid": n}]
        images.append({"filepath": "val2014", "filename": name, "split": split, "cocoid": n, "sentences": sentences})
        new.expect(new.picture(f"val2014/{name}"), split, cocoid=n, sentences=sentences)
    new.document("dataset_coco.json", {"images": images, "dataset": "coco"})


@layout("VQA v2")
def vqa(new: Miniature) -> None:
    pictures = {n: new.picture(f"val2014/COCO_val2014_{n:012}.jpg") for n in (262148, 393225)}
    questions, answers = [], []
    for n, image in [(262148000, 262148), (262148001, 262148), (393225000, 393225)]:
        questions.append({"image_id": image, "question": f"Where? {n}", "question_id": n})
        answers.append({"question_type": "where", "multiple_choice_answer": f"down {n}", "image_id": image, "question_id": n})
        new.expect(pictures[image], key=str(n), question=f"Where? {n}", multiple_choice_answer=f"down {n}")
    new.document("v2_OpenEnded_mscoco_val2014_questions.json", {"info": {}, "questions": questions})
    new.document("v2_mscoco_val2014_annotations.json", {"info": {}, "annotations": answers[::-1]})


@layout("FFHQ")
def ffhq(new: Miniature) -> None:
    members = {}
    for n in (0, 1):
        path = f"images1024x1024/00000/{n:05}.png"
        members[str(n)] = {"category": "training", "image": {"file_path": path, "pixel_size": [32, 24]}}
        new.expect(new.picture(path), category="training")
    new.document("ffhq-dataset-v2.json", members)


@layout("CC3M list and pictures")
def cc3m_list(new: Miniature) -> None:
    lines = []
    captions = ["a very typical bus station", '"the long way home" is a film', 'a 5" pipe', '"to be', 'he said "no"']
    for n, caption in enumerate(captions):
        new.expect(new.picture(f"cc/pictures/{n}.jpg"), caption=caption)
        lines.append(f"{caption}\tpictures/{n}.jpg")
    new.text("cc/train.tsv", lines)


@layout("LibriSpeech")
def librispeech(new: Miniature) -> None:
    for chapter in ("121123", "121726"):
        lines = []
        for n in range(2):
            name = f"1089-{chapter}-{n:04}"
            content = f"fLaC {name}".encode()
            new.at(f"LibriSpeech/test-clean/1089/{chapter}/{name}.flac").write_bytes(content)
            new.expect(None, key=f"1089/{chapter}/{name}", parts={"flac": content}, text=f"GO DO YOU HEAR {n}")
            lines.append(f"{name} GO DO YOU HEAR {n}")
        new.text(f"LibriSpeech/test-clean/1089/{chapter}/1089-{chapter}.trans.txt", lines)
