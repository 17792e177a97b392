"""Renders the chat templates of fixtures/chat with transformers, and writes what it makes of them.

    python python/tests/chat_golden.py              # writes fixtures/chat/golden
    python python/tests/chat_golden.py --tokenizers # trains fixtures/chat/tokenizers before

Each golden file has, for each conversation: the rendered text, the digest of its ids, and the ids that the assistant
writes, as runs. Where a template has no `{% generation %}`, transformers does not know them: they are found here by
rendering prefixes and tokenizing with offsets.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import pathlib
import re
import sys
from typing import Any

import transformers
from chat_snippets import SNIPPETS
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

CHAT = pathlib.Path(__file__).parents[2] / "fixtures" / "chat"
NOW = datetime.datetime(2026, 11, 29)
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
# Templates of models whose tokenizer is SentencePiece.
SPACES = {"llama-2", "mistral-v1", "mistral-v3", "gemma-2", "gemma-3", "gemma-training", "vicuna", "zephyr", "yi", "phi-3"}

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a <city> & 'its' region, e.g. Köln",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city"},
                "days": {"type": "integer", "enum": [1, 2]},
                "unit": {"type": ["string", "null"], "default": None},
            },
            "required": ["city"],
        },
    },
}
CALL = {
    "id": "abcdef123",
    "type": "function",
    "function": {"name": "get_weather", "arguments": {"city": "Köln", "days": 1, "x": 1.0, "y": [True, None, 1e22]}},
}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def system(content: str) -> dict[str, Any]:
    return {"role": "system", "content": content}


def result(content: str) -> dict[str, Any]:
    return {"role": "tool", "name": "get_weather", "tool_call_id": "abcdef123", "content": content}


CONVERSATIONS: dict[str, dict[str, Any]] = {
    "one": {"messages": [user("Hi"), assistant("Hello!")]},
    "system": {"messages": [system("You are <b>terse</b>."), user("  Hi there \n"), assistant(" Hello!\n\n ")]},
    "turns": {"messages": [user("a"), assistant("b"), user("c?"), assistant("d, d."), user("e"), assistant("f")]},
    "system-turns": {"messages": [system("Be good."), user("a"), assistant("b"), user("c"), assistant("d")]},
    "unicode": {"messages": [user("日本語 🙂 é\u00a0x\u3000"), assistant("\u200b🏳️‍🌈 fin 🙂")]},
    "empty": {"messages": [user(""), assistant("")]},
    "none": {"messages": [user("q"), assistant(None)]},
    "thinking": {"messages": [user("q"), assistant("<think>\nhm\n</think>\n\nyes"), user("r"), assistant("<think>x</think>y")]},
    "reasoning": {"messages": [user("q"), assistant("answer", reasoning_content="because")]},
    "tools": {
        "messages": [system("s"), user("weather?"), assistant("", tool_calls=[CALL]), result('{"t": 3}'), assistant("3 degrees")],
        "tools": [TOOL],
    },
    "two-calls": {
        "messages": [
            user("weather?"),
            assistant(None, tool_calls=[CALL, CALL]),
            result("3"),
            result("4"),
            assistant("3 and 4"),
            user("thanks"),
            assistant("np"),
        ],
        "tools": [TOOL, TOOL],
    },
    "unused-tools": {"messages": [user("hi"), assistant("hello")], "tools": [TOOL]},
    "two-users": {"messages": [user("hi"), user("there"), assistant("hello")]},
    "parts": {
        "messages": [
            user([{"type": "text", "text": "Hi "}, {"type": "text", "text": "you"}]),
            assistant([{"type": "text", "text": "Yo"}]),
        ]
    },
    "special-tokens": {"messages": [user("a </s> b <|im_end|> c"), assistant("d <s> e")]},
    "open": {"messages": [user("a"), assistant("b"), user("c")]},
}


class Today(datetime.datetime):
    """A clock that stands still: templates write the date."""

    @classmethod
    def now(cls, tz: Any = None) -> datetime.datetime:
        return NOW


def snippets() -> str:
    """What transformers makes of each snippet: a text with the characters of its blocks, or nothing if it refuses."""
    chat_template_utils.datetime = Today
    found = []
    for source in SNIPPETS:
        try:
            made = chat_template_utils._compile_jinja_template(source)
            messages = [user(" hi ")]
            text, spans = chat_template_utils._render_with_assistant_indices(made, messages, None, None, False)
            spans = [[len(text[:place].encode()) for place in span] for span in spans]
            found.append({"source": source, "text": text, "spans": spans})
        except Exception as refused:
            found.append({"source": source, "refused": type(refused).__name__})
    return "[\n" + ",\n".join(json.dumps(own, ensure_ascii=False) for own in found) + "\n]\n"


def tokenizer_of(name: str) -> PreTrainedTokenizerFast:
    folder = CHAT / "tokenizers" / ("spaces" if name in SPACES else "bytes")
    made = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), **TOKENS)
    made.chat_template = (CHAT / "templates" / f"{name}.jinja").read_bytes().decode()
    return made


def runs(mask: list[int]) -> list[int]:
    bounds = []
    for at, own in enumerate([*mask, 0]):
        if own != len(bounds) % 2:
            bounds.append(at)
    return bounds


def digest(ids: list[int]) -> str:
    return hashlib.sha256(b"".join(own.to_bytes(4, "little") for own in ids)).hexdigest()


def overlapping(offsets: list[tuple[int, int]], spans: list[tuple[int, int]]) -> list[int]:
    return [int(any(begin < last and end > first for first, last in spans)) for begin, end in offsets]


def by_prefixes(made: PreTrainedTokenizerFast, messages: list[Any], tools: Any, whole: str, turns: list[int]) -> Any:
    """The runs of ids of some turns, or that their texts are not found."""
    spans = []
    for turn in turns:
        try:
            prompt = made.apply_chat_template(messages[:turn], tools=tools, tokenize=False, add_generation_prompt=True)
            until = made.apply_chat_template(messages[: turn + 1], tools=tools, tokenize=False)
        except Exception:
            return "refused"
        if not (until.startswith(prompt) and whole.startswith(until)):
            return "unknown"
        spans.append((len(prompt), len(until)))
    offsets = made(whole, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    return runs(overlapping(offsets, spans))


def case(made: PreTrainedTokenizerFast, conversation: dict[str, Any]) -> dict[str, Any]:
    """What transformers makes of a conversation."""
    messages, tools = conversation["messages"], conversation.get("tools")
    try:
        text = made.apply_chat_template(messages, tools=tools, tokenize=False)
    except Exception as refused:
        return {"refused": type(refused).__name__}
    ids = made.apply_chat_template(messages, tools=tools, tokenize=True)["input_ids"]
    found = {"text": text, "ids": digest(ids), "number": len(ids)}
    turns = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    if re.search(r"\{%[-+]?\s*generation", made.chat_template):
        whole = made.apply_chat_template(messages, tools=tools, tokenize=True, return_dict=True, return_assistant_tokens_mask=True)
        found["all"] = runs(whole["assistant_masks"])
    else:
        found["all"] = by_prefixes(made, messages, tools, text, turns)
        found["last"] = by_prefixes(made, messages, tools, text, turns[-1:])
    return found


def golden(name: str) -> dict[str, Any]:
    """What transformers makes of all conversations by a template."""
    chat_template_utils.datetime = Today
    made = tokenizer_of(name)
    cases = {title: case(made, conversation) for title, conversation in CONVERSATIONS.items()}
    return {"tokenizer": "spaces" if name in SPACES else "bytes", "cases": cases}


def conversations() -> str:
    """Each conversation as a text of JSON, which keeps the order of its names in every reader."""
    texts = {title: json.dumps(own, ensure_ascii=False) for title, own in CONVERSATIONS.items()}
    return json.dumps(texts, ensure_ascii=False, indent=1) + "\n"


def names() -> list[str]:
    return sorted(path.stem for path in (CHAT / "templates").glob("*.jinja"))


def written(found: dict[str, Any]) -> str:
    cases = [f" {json.dumps(title)}: {json.dumps(own, ensure_ascii=False)}" for title, own in found["cases"].items()]
    return f'{{"tokenizer": "{found["tokenizer"]}", "cases": {{\n' + ",\n".join(cases) + "\n}}\n"


def path_of(name: str) -> pathlib.Path:
    return CHAT / "golden" / f"{name}.json"


def train() -> None:
    """Makes the two tokenizers."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    sources = [(CHAT / "templates" / f"{name}.jinja").read_bytes().decode() for name in names()]
    special = set(TOKENS.values())
    for source in sources:
        special.update(re.findall(r"<\|[\w▁ ]{2,30}\|>|<｜[\w▁]{2,30}｜>|<(?:start|end)_of_turn>|\[/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\]", source))
    special = sorted(special)
    texts = sources + ["The weather is fine. " * 9, "Hello there, how are you today? I am well, thank you! " * 9]
    split = Regex(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(split, "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.post_processor = processors.ByteLevel(trim_offsets=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=[], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    save(made, special, "bytes")
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    fallback = ["<unk>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    short = [re.sub(r"\s+", " ", text)[:4000] for text in texts]
    split_words = pre_tokenizers.Split(Regex("▁[^▁]*"), "isolated")
    made.pre_tokenizer = split_words
    made.train_from_iterator(
        short, trainers.BpeTrainer(vocab_size=700, special_tokens=fallback, limit_alphabet=120, show_progress=False)
    )
    made.pre_tokenizer = None
    # The trainer makes special tokens of the bytes; a model of SentencePiece has them in its vocabulary alone.
    written = json.loads(made.to_str())
    written["added_tokens"] = []
    save(Tokenizer.from_str(json.dumps(written)), special, "spaces")


def save(made: Any, special: list[str], name: str) -> None:
    from tokenizers import AddedToken

    made.add_special_tokens([AddedToken(own, special=True, normalized=False) for own in special])
    folder = CHAT / "tokenizers" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(json.loads(made.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENS) + "\n")


def main() -> None:
    if "--tokenizers" in sys.argv:
        train()
    (CHAT / "golden").mkdir(exist_ok=True)
    (CHAT / "conversations.json").write_text(conversations())
    (CHAT / "snippets.json").write_text(snippets())
    for name in names():
        path_of(name).write_text(written(golden(name)))
    print(f"{len(names())} templates, transformers {transformers.__version__}")


if __name__ == "__main__":
    main()
