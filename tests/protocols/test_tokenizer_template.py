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

# An assistant's last message has a place for its thoughts, earlier ones have not.
_THINKING = """{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>user
<tool_response>
{{ m.content }}
</tool_response><|im_end|>
{% elif m.role == 'assistant' and loop.last %}<|im_start|>assistant
<think>

</think>

{{ m.content }}<|im_end|>
{% else %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_NO_TOOLS = """{% for m in messages %}{% if m.role not in ('user', 'assistant') %}{{ raise_exception('no such role') }}
{% endif %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_SILENT = """{% for m in messages if m.role in ('user', 'assistant') %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
_TWO_ENDS = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}"
    "{{ '[LAST]' if loop.last and m.role != 'user' else '[END]' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)


def _tokenizer(codec: TokenCodec, template: str | None) -> PreTrainedTokenizerFast:
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=codec.tokenizer)
    tokenizer.chat_template = template
    return tokenizer


@pytest.mark.parametrize(
    ("source", "role"),
    [(_TEMPLATE, "tool"), (_TEMPLATE, "user"), (_THINKING, "user"), (_NO_TOOLS, "user"), (_SILENT, "user")],
)
def test_pieces_join_to_what_the_tokenizer_renders(byte_codec: TokenCodec, source: str, role: str) -> None:
    tokenizer = _tokenizer(byte_codec, source)
    template = TokenizerTemplate(tokenizer)
    conversation = [{"role": "user", "content": "q"}]
    text = template.render(conversation) + "a1" + template.turn_end
    opening, closing = template.tool_turn() if role == "tool" else template.user_turn()
    text += opening + "result" + closing
    conversation += [{"role": "assistant", "content": "a1"}, {"role": role, "content": "result"}]
    assert text == tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)


def test_a_page_uses_the_tokenizers_template(byte_codec: TokenCodec) -> None:
    blueprint = toolenvs.load("ReToolChat-v0", tokenizer=_tokenizer(byte_codec, _TEMPLATE))
    assert blueprint.render_prompt(blueprint.tasks[0]).startswith("<|im_start|>user:")
    assert blueprint.protocol.stop == ("<|im_end|>",)


def test_templates_that_cannot_be_appended_to_are_refused(byte_codec: TokenCodec) -> None:
    with pytest.raises(PageError, match="rewrites earlier turns"):
        TokenizerTemplate(_tokenizer(byte_codec, _REWRITING)).tool_turn()
    with pytest.raises(PageError, match="no chat template.*prompt.template"):
        TokenizerTemplate(_tokenizer(byte_codec, None))


def test_a_template_that_thinks_in_the_last_turn(byte_codec: TokenCodec) -> None:
    tokenizer = _tokenizer(byte_codec, _THINKING)
    template = TokenizerTemplate(tokenizer)
    assert (template.turn_end, template.turn_start) == ("<|im_end|>", "<|im_start|>")
    conversation = [{"role": "user", "content": "q"}]
    opening, closing = template.tool_turn()
    text = template.render(conversation) + "a1" + template.turn_end + opening + "result" + closing
    conversation += [{"role": "assistant", "content": "a1"}, {"role": "tool", "content": "result"}]
    assert text == tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)


@pytest.mark.parametrize(
    ("unable", "told"),
    [
        (_NO_TOOLS, "refuses messages of the roles user, assistant, tool"),
        (_SILENT, "leaves out messages of role 'tool'"),
    ],
)
def test_a_tool_turn_is_asked_for_only_where_one_is_needed(byte_codec: TokenCodec, unable: str, told: str) -> None:
    tokenizer = _tokenizer(byte_codec, unable)
    template = TokenizerTemplate(tokenizer)
    assert (template.turn_end, template.turn_start) == ("<|im_end|>", "<|im_start|>")
    blueprint = toolenvs.load("ReTool-v0", tokenizer=tokenizer)
    assert blueprint.render_prompt(blueprint.tasks[0]).endswith("<|im_start|>assistant\n")
    with pytest.raises(PageError, match=f"{told}.*protocol.kind"):
        toolenvs.load("ReToolChat-v0", tokenizer=tokenizer)


def test_what_a_template_refuses_is_told(byte_codec: TokenCodec) -> None:
    template = TokenizerTemplate(_tokenizer(byte_codec, _NO_TOOLS))
    with pytest.raises(PageError, match="roles system, user: no such role.*chat_template = None"):
        template.render([{"role": "system", "content": "s"}, {"role": "user", "content": "q"}])
    with pytest.raises(PageError, match="leaves out what the assistant says"):
        TokenizerTemplate(_tokenizer(byte_codec, "{{ messages[0].content }}"))
    with pytest.raises(PageError, match="in two ways"):
        TokenizerTemplate(_tokenizer(byte_codec, _TWO_ENDS)).tool_turn()
