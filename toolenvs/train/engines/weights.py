"""A model's weights as one file, or as its bytes, for engines of another process: safetensors, tied tensors once."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save, save_file
from torch import Tensor

from toolenvs.errors import EngineError

_ALIASES = "aliases"
_SHARED_MEMORY = Path("/dev/shm")


def write_weights(state_dict: Mapping[str, Tensor], path: Path) -> None:
    """Write all tensors of a `state_dict`; names of one tensor (tied embeddings) become one tensor and its aliases."""
    tensors, metadata = _laid_out(state_dict)
    save_file(tensors, path, metadata=metadata)


def pack_weights(state_dict: Mapping[str, Tensor]) -> bytes:
    """What `write_weights` writes, as bytes."""
    tensors, metadata = _laid_out(state_dict)
    return bytes(save(tensors, metadata=metadata))


def unpack_weights(data: bytes) -> dict[str, Tensor]:
    """What `pack_weights` packed, aliases included.

    Raises:
        EngineError: it is no such thing, or cut off.
    """
    try:
        tensors: dict[str, Tensor] = load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return _with_aliases(tensors, header.get("__metadata__"))
    except (SafetensorError, ValueError, KeyError) as error:
        raise EngineError(f"the weights cannot be read: {error}; push them again") from error


def _laid_out(state_dict: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors of memory of their own, and the file's metadata."""
    first: dict[tuple[object, ...], str] = {}
    tensors: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    for name, value in state_dict.items():
        tensor = value.detach()
        place = (tensor.device, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))
        if tensor.numel() and place in first:
            aliases[name] = first[place]
            continue
        first[place] = name
        tensors[name] = tensor.to("cpu").contiguous()
    # Two tensors that overlap in part would be refused; each gets its own memory.
    owners: set[int] = set()
    for name, tensor in tensors.items():
        storage = tensor.untyped_storage().data_ptr()
        if storage in owners:
            tensors[name] = tensor.clone()
        owners.add(storage)
    return tensors, {_ALIASES: json.dumps(aliases)}


def _with_aliases(tensors: dict[str, Tensor], metadata: Mapping[str, str] | None) -> dict[str, Tensor]:
    aliases: dict[str, str] = json.loads((metadata or {}).get(_ALIASES, "{}"))
    return tensors | {name: tensors[target] for name, target in aliases.items()}


def read_weights(path: Path) -> dict[str, Tensor]:
    """What `write_weights` wrote, aliases included.

    Raises:
        EngineError: the file is no such file, or cut off.
    """
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()  # the file itself cannot be iterated over
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in names}
            return _with_aliases(tensors, file.metadata())
    except (SafetensorError, OSError, ValueError, KeyError) as error:
        raise EngineError(f"the weights in {path} cannot be read: {error}; push them again") from error


@contextmanager
def weights_file(state_dict: Mapping[str, Tensor]) -> Iterator[Path]:
    """The weights in a file that is gone afterwards; in shared memory, where that has room for them."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in state_dict.values())
    with tempfile.TemporaryDirectory(prefix="toolenvs-weights-", dir=_roomy(size)) as folder:
        path = Path(folder) / "weights.safetensors"
        write_weights(state_dict, path)
        yield path


def _roomy(size: int) -> str | None:
    try:
        return str(_SHARED_MEMORY) if shutil.disk_usage(_SHARED_MEMORY).free > 2 * size else None
    except OSError:
        return None
