"""Tokenizers of three kinds, trained on the spot from a few lines of text."""

import importlib.util
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from toolenvs import assets
from toolenvs.codec import TokenCodec

settings.register_profile("toolenvs", deadline=None)
settings.load_profile("toolenvs")

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads wait for one another by spinning, and tests share cores

if shutil.which("apt-get") is None:  # the database 'debian' is then made of a few entries by hand
    os.environ.setdefault(
        "TOOLENVS_DEBIAN_INDEX", str(Path(__file__).parent / "sample_databases" / "data" / "Packages")
    )

_CORPUS = [
    "Let me compute it.\n<code>\n```python\nprint(2 + 2)\n```\n</code>\n<interpreter>\n4\n</interpreter>\n",
    "The result is 4.\n<answer>\n\\boxed{4}\n</answer>",
    "<search>who wrote it</search><information>a page</information>",
    'Call it: <tool_call>\n{"name": "code_interpreter", "arguments": {"code": "print(1)"}}\n</tool_call>',
    "```output\n12\n```\nTherefore the answer is $\\boxed{12}$.",
] * 3
_SPECIAL = [AddedToken(text, special=True) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With `-n` the tests of a file share a process and its fixtures, and those of the docker sandbox an engine."""
    docker = Path(__file__).parent / "sandbox" / "docker"
    for item in items:
        item.add_marker(pytest.mark.xdist_group("docker" if docker in item.path.parents else str(item.path)))


def byte_level() -> Tokenizer:
    """Byte-level BPE, as GPT-2, Llama 3 and Qwen use."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(_CORPUS, trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet))
    tokenizer.add_special_tokens(_SPECIAL)
    return tokenizer


def straddling() -> Tokenizer:
    """A BPE whose merges ignore word boundaries, so that single tokens run across the edges of tags; NFC on top."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^<>`\n]{1,12}|[<>`\n/a-z]+"), "isolated")
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])
    texts = [*_CORPUS, *(["x</code>\n", "</code>\n<", "</answer>\n\n", "e></code", "put>\n4"] * 20)]
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    characters = sorted({character for text in texts for character in text})
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=900, special_tokens=fallback, initial_alphabet=characters)
    )
    plain = Tokenizer.from_str(tokenizer.to_str().replace('"special":true', '"special":false'))
    plain.add_special_tokens(_SPECIAL)
    return plain


def leading_space() -> Tokenizer:
    """Unigram with a meta-space in front of every text, as SentencePiece models of Llama 2, T5 and Mistral."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        _CORPUS, trainers.UnigramTrainer(vocab_size=700, special_tokens=["<unk>", *bytes_], unk_token="<unk>")
    )
    state = tokenizer.to_str().replace('"byte_fallback":false', '"byte_fallback":true')
    tokenizer = Tokenizer.from_str(state.replace('"special":true', '"special":false'))
    tokenizer.add_special_tokens(_SPECIAL)
    return tokenizer


_KINDS: dict[str, Callable[[], Tokenizer]] = {
    "byte_level": byte_level,
    "straddling": straddling,
    "leading_space": leading_space,
}


@pytest.fixture(scope="session", params=_KINDS)
def codec(request: pytest.FixtureRequest) -> TokenCodec:
    return TokenCodec(_KINDS[request.param]())


@pytest.fixture(scope="session")
def byte_codec() -> TokenCodec:
    return TokenCodec(byte_level())


class ChatModel(BaseHTTPRequestHandler):
    """A model behind a chat endpoint of this machine: answers (status, body), one after another, and keeps what it is
    asked."""

    answers: list[tuple[int, Any]]
    asked: list[tuple[str, dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append((self.headers.get("Authorization", ""), body))
        status, answer = self.answers.pop(0)
        content = json.dumps(answer).encode() if not isinstance(answer, bytes) else answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def heeded_interrupts() -> Iterator[None]:
    """Ctrl-C interrupts this process: a shell that starts the tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def chat_model() -> Iterator[tuple[type[ChatModel], dict[str, Any]]]:
    handler = type("Handler", (ChatModel,), {"answers": [], "asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    base_url = f"http://127.0.0.1:{server.server_port}/v1/"
    yield handler, {"base_url": base_url, "model": "tiny", "api_key_env": "TOOLENVS_TEST_KEY", "max_tokens": 64}
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def load_script() -> Callable[[str], ModuleType]:
    """`load_script("grpo")`: the module that baselines/grpo.py is."""
    folder = assets.folder("baselines")

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"baselines_{name}", folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        sys.path.insert(0, str(folder))  # as for a script, which finds its neighbours
        try:
            spec.loader.exec_module(module)
        finally:
            sys.path.remove(str(folder))
        return module

    return load
