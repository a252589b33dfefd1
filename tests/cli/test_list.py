"""`toolenvs list`."""

from toolenvs.assets import page_files


def test_every_page_has_a_line(run) -> None:
    result = run("list")
    assert result.exit_code == 0
    for name in page_files():
        assert name in result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("ReTool-v0")]
    assert "python" in line
    assert "tags" in line
    assert "64 turns" in line


def test_one_page_is_shown_with_its_tools_and_the_prompt_as_the_policy_reads_it(run) -> None:
    result = run("list", "ReTool-v0", "--set", "budget.max_calls=0")
    assert result.exit_code == 0
    assert "2504.11536" in result.output
    assert '"code": {"type": "string"' in result.output
    assert "max_calls = 0\n" in result.output
    assert "Problem:\n{question}\n" in result.output
    assert result.output.rstrip().endswith("<|im_start|>assistant")
