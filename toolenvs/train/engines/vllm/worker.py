"""What runs inside vLLM's workers: taking over weights, and log-probabilities as the trainer means them.

vLLM mixes this class into its own worker, so `self` has that worker's attributes.
"""

from pathlib import Path
from typing import Any

from toolenvs.train.engines.weights import read_weights

RECEIVE = "toolenvs_receive"
REPACK = "toolenvs_repack"
PREPARE = "toolenvs_prepare"


class WeightReceiver:
    """Methods that the engine calls in every worker; their names must not meet one of vLLM's."""

    def toolenvs_prepare(self) -> bool:
        """Have log-probabilities taken before `top_p` cuts the distribution; whether that could be done here."""
        runner: Any = self.model_runner  # type: ignore[attr-defined]
        cutting: Any = getattr(getattr(runner, "sampler", None), "topk_topp_sampler", None)
        if not callable(getattr(cutting, "forward", None)):
            return False
        sample = cutting.forward

        def forward(logits: Any, generators: Any, k: Any, p: Any) -> Any:
            if k is None and p is None:
                return sample(logits, generators, k, p)
            logprobs = logits.log_softmax(dim=-1)  # now: the logits are cut in place
            return sample(logits, generators, k, p)[0], logprobs

        cutting.forward = forward
        return True

    def toolenvs_receive(self, path: str) -> None:
        """Load the weights of a file, which are named as in transformers."""
        weights = read_weights(Path(path))
        self.reload_weights(weights_iterator=iter(weights.items()))  # type: ignore[attr-defined]

    def toolenvs_repack(self) -> int:
        """On a CPU: pack the head of the language model again, which is done at loading only; how many there were.

        Without it a push leaves the head as it was: every log-probability is off, and nothing fails.
        """
        model: Any = self.model_runner.get_model()  # type: ignore[attr-defined]
        heads = [module for module in model.modules() if _is_packed_head(module)]
        for head in heads:
            head.quant_method.process_weights_after_loading(head)
        return len(heads)


def _is_packed_head(module: Any) -> bool:
    from vllm.model_executor.layers.vocab_parallel_embedding import VocabParallelEmbedding

    return (
        isinstance(module, VocabParallelEmbedding) and hasattr(module, "cpu_linear") and hasattr(module, "quant_method")
    )
