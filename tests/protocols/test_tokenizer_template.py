"""A tokenizer's own chat template is taken apart and put together again without a difference."""

import pytest
from transformers import PreTrainedTokenizerFast

import toolenvs
from toolenvs.codec import TokenCodec
from toolenvs.errors import PageError
from toolenvs.protocols.templates import TokenizerTemplate

_TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}[TOOL]{{ m.content }}[/TOOL]"
    "{% else %}<|im_start|>{{ m.role }}:{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant:{% endif %}"
)
_REWRITING = "{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}"


def _tokenizer(codec: TokenCodec, template: str | None) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=codec.tokenizer)
    tokenizer.chat_template = template
    return tokenizer


def test_pieces_join_to_what_the_tokenizer_renders(byte_codec: TokenCodec) -> None:
    tokenizer = _tokenizer(byte_codec, _TEMPLATE)
    template = TokenizerTemplate(tokenizer)
    conversation = [{"role": "user", "content": "q"}]
    text = template.render(conversation) + "a1" + template.turn_end
    opening, closing = template.tool_turn()
    text += opening + "result" + closing
    conversation += [{"role": "assistant", "content": "a1"}, {"role": "tool", "content": "result"}]
    assert text == tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)


def test_a_page_uses_the_tokenizers_template(byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReToolChat-v0", tokenizer=_tokenizer(byte_codec, _TEMPLATE))
    assert blueprint.render_prompt(blueprint.tasks[0]).startswith("<|im_start|>user:")
    assert blueprint.protocol.stop == ("<|im_end|>",)


def test_templates_that_cannot_be_appended_to_are_refused(byte_codec: TokenCodec) -> None:
    with pytest.raises(PageError, match="rewrites earlier turns"):
        TokenizerTemplate(_tokenizer(byte_codec, _REWRITING))
    with pytest.raises(PageError, match="no chat template"):
        TokenizerTemplate(_tokenizer(byte_codec, None))
