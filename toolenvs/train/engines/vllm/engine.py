"""`VLLMEngine`: vLLM beside the trainer, its core in a process of its own."""

import asyncio
import atexit
import contextlib
import itertools
import os
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from torch import Tensor

from toolenvs.agents.engine import GenerateRequest, Generation
from toolenvs.codec import TokenCodec
from toolenvs.errors import ConfigError, EngineError, MissingExtraError, ToolenvsError
from toolenvs.tokens import cut_at_stop
from toolenvs.train.engines.ends import end_tokens
from toolenvs.train.engines.looped import LoopedEngine
from toolenvs.train.engines.vllm.adapter import Adapter
from toolenvs.train.engines.vllm.worker import PREPARE, RECEIVE, REPACK
from toolenvs.train.engines.weights import weights_file

T = TypeVar("T")
GIB = 1 << 30
_FORGET_ATTEMPTS = 100
_FORGET_WAIT_S = 0.05


class VLLMEngine(LoopedEngine):
    """Samples with vLLM; requests join and leave its batch at every token.

    Args:
        model: a model folder, or a name on the hub; its tokenizer is read from there too.
        dtype: of weights and computation: "auto" for the model's own, or such as "float32" and "bfloat16".
        max_context: tokens of a context and what is sampled after it; None for what the model allows.
        kv_cache_gib: memory for keys and values; None for vLLM's choice, which on a CPU is most of what there is.
        threads: CPU threads of the engine's process; 0 for vLLM's choice.
        timeout_s: wall-clock seconds after which a request that was not answered has failed.
        seed: of vLLM itself; samples are drawn by the seeds of their requests.
        options: further arguments of vLLM's `AsyncEngineArgs`, such as `tensor_parallel_size`.

    Raises:
        MissingExtraError: vLLM or transformers is not installed.
        ConfigError: the version of vLLM is not known, or it refuses an argument.
        EngineError: it did not start.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        dtype: str = "auto",
        max_context: int | None = None,
        kv_cache_gib: float | None = None,
        threads: int = 0,
        timeout_s: float = 600.0,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            from transformers import AutoConfig, AutoTokenizer, GenerationConfig
        except ImportError as error:
            raise MissingExtraError("transformers", "train", "the engine 'vllm'") from error
        generation_config = None
        with contextlib.suppress(OSError):  # a model may have none
            generation_config = GenerationConfig.from_pretrained(model)
        try:
            config = AutoConfig.from_pretrained(model)
            self._ends = sorted(end_tokens(config, generation_config))
            self._codec = TokenCodec(AutoTokenizer.from_pretrained(model))
        except (OSError, ValueError) as error:
            raise ConfigError(f"no policy can be loaded from {str(model)!r}: {error}") from error
        self.version = 0
        self._timeout_s = timeout_s
        self._numbers = itertools.count()
        self._adapter: Adapter | None = None
        self._pid = os.getpid()
        self._arguments: dict[str, Any] = {
            # vLLM's own "auto" computes a float32 model in bfloat16.
            "dtype": str(config.dtype).removeprefix("torch.") if dtype == "auto" and config.dtype else dtype,
            "max_context": max_context,
            "kv_cache_bytes": None if kv_cache_gib is None else int(kv_cache_gib * GIB),
            "threads": threads,
            "seed": seed,
            "options": options or {},
        }
        self._model = model
        super().__init__("vllm")
        atexit.register(self.close)
        try:
            self._thread.run(self._start())
        except BaseException:
            self.close()
            raise

    async def _start(self) -> None:
        try:
            self._adapter = Adapter(self._model, **self._arguments)
            (self._before_nucleus, *_) = await self._adapter.tell_workers(PREPARE)
        except ToolenvsError:
            raise
        except Exception as error:
            raise EngineError(f"vLLM did not start with {self._model}: {_said(error)}") from error
        self.max_context = self._adapter.max_context

    async def _continue(self, request: GenerateRequest) -> Generation:
        context = [int(token) for token in request.ids]
        self._check(request, context)
        ids: list[int] = []
        logprobs: list[float] = []
        finish: Literal["stop", "eos", "length"] | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                while finish is None:
                    parameters = self._live().parameters(
                        stop=request.stop,
                        ends=self._ends,
                        max_new_tokens=request.max_new_tokens - len(ids),
                        temperature=request.temperature,
                        top_p=request.top_p,
                        seed=request.seed + len(ids),
                    )
                    number = f"{request.key}-{next(self._numbers)}"
                    sampled, said, reason = await self._guarded(self._live().run([*context, *ids], parameters, number))
                    ids += sampled
                    logprobs += said
                    finish = self._finish(request, ids, reason)
        except TimeoutError:
            raise EngineError(
                f"vLLM did not answer within {self._timeout_s:g} s (episode {request.key!r}); raise timeout_s if it is "
                "only slow"
            ) from None
        kept = cut_at_stop(ids, request.stop, self._codec)
        return Generation(ids=ids[:kept], logprobs=[min(value, 0.0) for value in logprobs[:kept]], finish=finish)

    def _check(self, request: GenerateRequest, context: list[int]) -> None:
        if self.max_context is not None and len(context) >= self.max_context:
            raise ConfigError(
                f"the context of episode {request.key!r} has {len(context)} tokens, and the engine allows "
                f"{self.max_context} with what is sampled: raise max_context, or lower the page's budget"
            )
        if request.top_p < 1 and not self._before_nucleus:
            raise ConfigError("this vLLM gives no log-probabilities of a distribution that top_p cuts: set top_p to 1")

    def _finish(self, request: GenerateRequest, ids: list[int], reason: str) -> Literal["stop", "eos", "length"] | None:
        """Why the generation is over; None where vLLM read a stop string that the codec does not see in the ids."""
        text = self._codec.decode(ids)
        if any(stop in text for stop in request.stop):
            return "stop"
        if ids and ids[-1] in self._ends:
            return "eos"
        return "length" if reason == "length" or len(ids) >= request.max_new_tokens else None

    def push_weights(self, state_dict: Mapping[str, Tensor], version: int) -> None:
        """Take over new weights in place, and forget the keys and values of the old ones.

        An engine whose process died is started anew first.

        Raises:
            EngineError: a request is being answered, or the workers failed.
        """
        self._refuse_in_flight()
        with weights_file(state_dict) as path:
            self.push_file(path, version)

    def push_file(self, path: Path, version: int) -> None:
        """As `push_weights`, from a file of `toolenvs.train.engines.weights`."""
        self._refuse_in_flight()
        if not self.alive():
            self._shutdown()
            self._thread.run(self._start())
        self._thread.run(self._take_over(path))
        self.version = version

    async def _take_over(self, path: Path) -> None:
        await self._guarded(self._live().tell_workers(RECEIVE, str(path)))
        if self._live().on_cpu:
            await self._repack()
        await self._forget()

    async def _repack(self) -> None:
        await self._guarded(self._live().tell_workers(REPACK))

    async def _forget(self) -> None:
        for _ in range(_FORGET_ATTEMPTS):
            if await self._guarded(self._live().forget_prefixes()):
                return
            await asyncio.sleep(_FORGET_WAIT_S)  # a request that was taken back is still being cleared away
        raise EngineError("vLLM keeps keys and values of the old weights: a request never ended; open another engine")

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        except (ToolenvsError, TimeoutError):
            raise
        except Exception as error:
            if self._adapter is None or self._adapter.is_death(error):
                raise EngineError("the process of vLLM died; its own words stand in the run's output") from error
            raise EngineError(f"vLLM failed: {_said(error)}") from error

    def _live(self) -> Adapter:
        if self._adapter is None:
            raise EngineError("the vllm engine was closed; open another")
        return self._adapter

    def alive(self) -> bool:
        """Whether its process still answers."""
        return self._adapter is not None and not self._adapter.errored

    def close(self) -> None:
        """End the processes and free the memory; requests that run are told. A second call does nothing."""
        if os.getpid() != self._pid:  # a forked child: the engine is its parent's
            return
        atexit.unregister(self.close)
        self._shutdown()
        self._thread.close()

    def _shutdown(self) -> None:
        adapter, self._adapter = self._adapter, None
        if adapter is not None:
            self._thread.run(adapter.shutdown())


def _said(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"
