"""A policy of 0.3 M parameters that learns tool use from nothing, on a laptop, in minutes.

Small enough to train in a test, real enough to load with `AutoModelForCausalLM` and in vLLM. Three steps make it:
`tokenizer` and `model` build it, `base` teaches it to copy text (the one skill that tool use cannot do without), and
`demos` writes the transcripts of a cold start.
"""
