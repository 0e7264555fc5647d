"""Independent chunks of work by any scheduler: none, threads, or a cluster of dask.

A chunk is a pure function of itself and of one shared object, usually with a model inside. Which
worker computes it, when, and how often it is retried changes nothing. The shared object is a task
of the cluster itself: each worker receives it once, and where workers die it is made again.

One computation of JAX at a time runs in a process: batched Cholesky factors of several threads can
wait for each other for ever.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from importlib.util import find_spec
from types import MethodType
from typing import Any

import jax

from geomndp import _validation

Scheduler = Any
"""None, "threads", "dask" for the active client, the address of a cluster, or a client of dask."""
NUM_THREADS = 2
"""Threads of "threads": one prepares while the other computes."""
WAITING = 2
"""Chunks per worker that are sent ahead: results are taken away before more are made."""
RETRIES = 3
"""Times that a chunk is sent again where its worker died or raised an error of the system."""
_one_at_a_time = threading.RLock()


def run_chunks(
    function: Callable[[Any, Any], Any],
    shared: Any,
    chunks: Iterable[Any],
    scheduler: Scheduler = None,
) -> Iterator[tuple[int, Any]]:
    """Apply a function to all chunks.

    Args:
        function: Map of the shared object and a chunk to a result: pure, and for a cluster
            importable or closed over what can be pickled.
        shared: What all chunks need; sent to every worker once.
        chunks: Chunks of work, taken lazily.
        scheduler: None for one after the other in this thread, "threads", a `dask.distributed`
            client, the address of its scheduler, or "dask" for the client that is active.

    Yields:
        Number and result of every chunk, as they are finished.

    Raises:
        ValueError: If there is no such scheduler.
    """
    call = _Call(function, bool(jax.config.read("jax_enable_x64")))
    if scheduler is None:
        for number, chunk in enumerate(chunks):
            yield number, call(shared, chunk)
    elif isinstance(scheduler, str) and scheduler == "threads":
        call.device = getattr(jax.config, "jax_default_device", None)
        yield from _by_threads(call, shared, chunks)
    else:
        cluster = scheduler if isinstance(scheduler, _Cluster) else _Cluster(scheduler)
        yield from _by_client(cluster.client, call, cluster.sent(shared), chunks)


def mapper(scheduler: Scheduler = None) -> Callable[[Callable, Iterable[Any]], list[Any]]:
    """What maps a function over independent items as the built-in `map` does, all at once.

    Args:
        scheduler: As that of `run_chunks`.

    Returns:
        `map_items(function, items)`, a list of the results in the order of the items, complete when
        it returns.
    """

    def map_items(function: Callable, items: Iterable[Any]) -> list[Any]:
        results = dict(run_chunks(_apply, function, items, scheduler))
        return [results[number] for number in range(len(results))]

    return map_items


def as_finished(scheduler: Scheduler = None) -> Callable[[Callable, Iterable[Any]], Iterator[Any]]:
    """As `mapper`, but results come one by one as they are finished, in any order.

    Args:
        scheduler: As that of `run_chunks`.

    Returns:
        `map_items(function, items)`, an iterator of the results. Calls with one function after the
        other send it to every worker once.
    """
    clusters: list[_Cluster] = []

    def map_items(function: Callable, items: Iterable[Any]) -> Iterator[Any]:
        if scheduler is not None and scheduler != "threads" and not clusters:
            clusters.append(_Cluster(scheduler))
        used = clusters[0] if clusters else scheduler
        return (result for _, result in run_chunks(_apply, function, items, used))

    return map_items


def _apply(function: Callable, item: Any) -> Any:
    return function(item)


class _Call:
    """A function with the caller's precision, alone in its process while it runs.

    Threads of the caller's process have its default device too.
    """

    def __init__(self, function: Callable, x64: bool):
        self.function, self.x64 = function, x64
        self.device: Any = None

    def __call__(self, shared: Any, chunk: Any) -> Any:
        on_device = nullcontext() if self.device is None else jax.default_device(self.device)
        with _one_at_a_time, jax.enable_x64(self.x64), on_device:
            return self.function(shared, chunk)


def _by_threads(call: _Call, shared: Any, chunks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    numbered, running = enumerate(chunks), {}
    with ThreadPoolExecutor(NUM_THREADS) as pool:
        try:
            while True:
                for number, chunk in itertools.islice(
                    numbered, WAITING * NUM_THREADS - len(running)
                ):
                    running[pool.submit(call, shared, chunk)] = number
                if not running:
                    return
                done: set[Future] = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=running.__getitem__):
                    yield running.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class _Cluster:
    """A client of dask, and the shared object that its workers have."""

    def __init__(self, scheduler: Any):
        self.client, own = _client(scheduler)
        self._last: tuple[Any, Any] | None = None
        if own:
            weakref.finalize(self, self.client.close)

    def sent(self, shared: Any) -> Any:
        """The object on the workers, kept there until another one is sent."""
        if self._last is None or not (
            shared is self._last[0] or _same_method(shared, self._last[0])
        ):
            # A task with its argument inside, not scattered data: it can be made again.
            self._last = shared, self.client.submit(_identity, shared, pure=False)
        return self._last[1]


def _same_method(a: Any, b: Any) -> bool:
    """Whether both are one method of one object, which Python makes anew for every call."""
    return isinstance(a, MethodType) and isinstance(b, MethodType) and a == b


def _by_client(client: Any, call: _Call, made: Any, chunks: Iterable[Any]):
    from distributed import as_completed

    numbered, numbers = enumerate(chunks), {}
    finished = as_completed(with_results=False)

    def send() -> None:
        room = WAITING * max(sum(client.nthreads().values()), 1) - len(numbers)
        for number, chunk in itertools.islice(numbered, max(room, 0)):
            future = client.submit(call, made, chunk, pure=False, retries=RETRIES)
            numbers[future] = number
            finished.add(future)

    try:
        send()
        while numbers:
            future = next(finished)
            number, result = numbers.pop(future), future.result()
            future.release()
            send()
            yield number, result
    finally:
        client.cancel([*numbers])


def _identity(value: Any) -> Any:
    return value


def check_scheduler(scheduler: Scheduler) -> None:
    """Refuse what is no scheduler, without a connection to any.

    Args:
        scheduler: As that of `run_chunks`.

    Raises:
        ValueError: If it is none of these, or dask is not installed or not active.
    """
    if scheduler is None or (isinstance(scheduler, str) and scheduler == "threads"):
        return
    if find_spec("distributed") is None:
        raise ValueError(
            f"expected dask.distributed for scheduler={scheduler!r}, got none: "
            "pip install 'geomndp[scale]'"
        )
    from distributed import Client, get_client

    if isinstance(scheduler, Client):
        return
    if not isinstance(scheduler, str):
        got = _validation.brief(scheduler)
        raise ValueError(f"expected None, 'threads', 'dask', an address or a client, got {got}")
    if scheduler == "dask":
        try:
            get_client()
        except ValueError as error:
            raise ValueError("expected an active client of dask, got none") from error
    elif "://" not in scheduler and not scheduler.endswith(".json"):
        raise ValueError(
            "expected scheduler None, 'threads', 'dask', an address such as tcp://host:8786, a "
            f"scheduler file (.json) or a client, got {scheduler!r}"
        )


def _client(scheduler: Any) -> tuple[Any, bool]:
    """A client, and whether it was made here."""
    check_scheduler(scheduler)
    from distributed import Client, get_client

    if isinstance(scheduler, Client):
        return scheduler, False
    if scheduler == "dask":
        return get_client(), False
    if scheduler.endswith(".json"):
        return Client(scheduler_file=scheduler), True
    return Client(scheduler), True
