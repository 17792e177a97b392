"""The golden files of fixtures/chat are what the installed transformers makes of the templates."""

from __future__ import annotations

import chat_golden
import pytest


def test_conversations_are_those_of_the_script():
    assert (chat_golden.CHAT / "conversations.json").read_text() == chat_golden.conversations()


def test_snippets_are_what_transformers_makes_of_them():
    assert (chat_golden.CHAT / "snippets.json").read_text() == chat_golden.snippets()


def test_each_golden_file_has_its_template():
    golden = sorted(path.stem for path in (chat_golden.CHAT / "golden").glob("*.json"))
    assert golden == chat_golden.names() and len(golden) >= 20


@pytest.mark.parametrize("name", chat_golden.names())
def test_transformers_renders_what_the_golden_file_has(name):
    assert chat_golden.written(chat_golden.golden(name)) == chat_golden.path_of(name).read_text()
