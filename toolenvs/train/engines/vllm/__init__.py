"""Sampling by vLLM (Kwon et al. 2023, Efficient Memory Management for LLM Serving with PagedAttention).

Whatever is said in vLLM's own names stands in `adapter` and `worker`; the rest knows no version of it.
"""

from toolenvs.train.engines.vllm.engine import VLLMEngine as VLLMEngine
