"""A model's weights as one file, for engines of another process: safetensors, tied tensors written once."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from toolenvs.errors import EngineError

_ALIASES = "aliases"
_SHARED_MEMORY = Path("/dev/shm")


def write_weights(state_dict: Mapping[str, Tensor], path: Path) -> None:
    """Write all tensors of a `state_dict`; names of one tensor (tied embeddings) become one tensor and its aliases."""
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
    save_file(tensors, path, metadata={_ALIASES: json.dumps(aliases)})


def read_weights(path: Path) -> dict[str, Tensor]:
    """What `write_weights` wrote, aliases included.

    Raises:
        EngineError: the file is no such file, or cut off.
    """
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()  # the file itself cannot be iterated over
            tensors: dict[str, Tensor] = {name: file.get_tensor(name) for name in names}
            aliases: dict[str, str] = json.loads((file.metadata() or {}).get(_ALIASES, "{}"))
        return tensors | {name: tensors[target] for name, target in aliases.items()}
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
