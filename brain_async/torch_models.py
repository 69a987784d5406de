"""Models of sentence-transformers: found without the network, loaded once, used by one worker thread at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

from brain_async.errors import BackendError, BrainError, MissingExtensionError

__all__ = ["ModelRunner", "local_model_path", "quiet_progress", "require_sentence_transformers", "translated"]

_Model = TypeVar("_Model")
_Result = TypeVar("_Result")

_INSTALL_LINE = "pip install 'brain-async[sentence-transformers]'"


class ModelRunner(Generic[_Model]):
    """Runs calls on a model that ``load`` makes at the first of them; a load that failed is tried again by the next.

    Tokenizers must not be shared by threads that run at once, and torch uses all cores anyway: callers take turns, first
    come, first served. A cancelled caller returns at once; what its thread has begun it finishes, and nobody gets the result.
    """

    def __init__(self, load: Callable[[], _Model]) -> None:
        self._load = load
        self._model: _Model | None = None
        self._turn = anyio.CapacityLimiter(1)
        self._lock = threading.Lock()

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    async def run(self, use: Callable[[_Model], _Result]) -> _Result:
        """What ``use`` makes of the model, in a worker thread. Raises what ``load`` and ``use`` raise."""
        abandoned = threading.Event()

        def work() -> _Result:
            # The turn is given on when a caller is cancelled, the lock only when its thread is done.
            with self._lock:
                if abandoned.is_set():
                    raise RuntimeError("nobody waits for this call any more")
                if self._model is None:
                    self._model = self._load()
                return use(self._model)

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._turn)
        except BaseException:
            abandoned.set()
            raise


def require_sentence_transformers() -> Any:
    """The package, imported; that takes seconds. Raises MissingExtensionError with the line that installs it."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise MissingExtensionError(f"sentence-transformers is not installed: {_INSTALL_LINE}") from error
    return sentence_transformers


def local_model_path(model_name_or_path: str, *, local_files_only: bool) -> str:
    """What to load: a folder as it is, a name as the folder that the hub's cache holds for it.

    Only without ``local_files_only`` is a name left to the library, which may then ask the hub. Raises OSError (of
    huggingface_hub) for a name that is not in the cache.
    """
    if not local_files_only or Path(model_name_or_path).is_dir():
        return model_name_or_path
    # The library itself would ask the hub all the same, and only then look into the cache.
    from huggingface_hub import snapshot_download

    return str(snapshot_download(model_name_or_path, local_files_only=True))


@contextmanager
def quiet_progress() -> Iterator[None]:
    """No progress bar of transformers on the terminal meanwhile."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


@contextmanager
def translated(error_type: type[BackendError], doing: str) -> Iterator[None]:
    """Whatever the library raises as ``error_type``, the cause kept."""
    try:
        yield
    except BrainError:
        raise
    except Exception as error:  # torch, tokenizers and the hub each have errors of their own
        raise error_type(f"{doing}: {type(error).__name__}: {error}") from error
