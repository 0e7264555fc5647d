"""Chunks by any scheduler: the same results, all of them once, in processes that may die."""

import os
import signal
import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import ProcessModel
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.scale import FinishedChunks, as_finished, engine, mapper, run_chunks


def squared(shared, chunk):
    return shared * chunk**2


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_all_chunks_once(scheduler):
    results = dict(run_chunks(squared, 2, range(20), scheduler))
    assert results == {number: 2 * number**2 for number in range(20)}
    assert mapper(scheduler)(abs, [-3, -2]) == [3, 2]


def test_chunks_are_taken_as_results_are():
    taken = []

    def chunks():
        for number in range(100):
            taken.append(number)
            yield number

    results = run_chunks(squared, 1, chunks(), "threads")
    next(results)
    assert len(taken) <= 2 * engine.WAITING * engine.NUM_THREADS
    results.close()


@pytest.mark.parametrize("scheduler", [None, "threads"])
def test_chunks_run_on_the_device_of_the_caller(scheduler):
    def device(shared, chunk):
        return jax.config.jax_default_device

    known = jax.devices()[0]
    with jax.default_device(known):
        assert dict(run_chunks(device, None, range(3), scheduler)) == dict.fromkeys(range(3), known)
    assert dict(run_chunks(device, None, range(1), scheduler)) == {0: None}


def test_one_computation_at_a_time_in_the_precision_of_the_caller():
    running, most, kinds = [], [], set()

    def work(_, chunk):
        running.append(chunk)
        most.append(len(running))
        time.sleep(0.002)
        kinds.add((jnp.zeros(1).dtype.name, threading.current_thread().name != "MainThread"))
        running.remove(chunk)

    for wide in (True, False):
        kinds.clear()
        with jax.enable_x64(wide):
            list(run_chunks(work, None, range(8), "threads"))
        assert kinds == {("float64" if wide else "float32", True)}
    assert max(most) == 1


def test_errors_of_a_chunk_come_through():
    def fail(_, chunk):
        raise ValueError(f"expected nothing, got {chunk}")

    for scheduler in (None, "threads"):
        with pytest.raises(ValueError, match="got 0"):
            list(run_chunks(fail, None, range(3), scheduler))
    with pytest.raises(ValueError, match="an address or a client, got 3"):
        list(run_chunks(fail, None, range(3), 3))


def test_folders_of_others_are_refused(tmp_path):
    FinishedChunks(tmp_path / "new", {"key": "1"})
    with pytest.raises(ValueError, match=r"key \(there 1, here 2\)"):
        FinishedChunks(tmp_path / "new", {"key": "2"})
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("")
    with pytest.raises(ValueError, match="expected an empty folder"):
        FinishedChunks(tmp_path / "mine", {"key": "1"})


def die_once(marker, chunk):
    """Kill the own process at one chunk, the first time it comes."""
    if chunk == 3 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid(), chunk


@pytest.fixture
def cluster():
    from distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with (
        LocalCluster(**options, dashboard_address=None, silence_logs=50) as workers,
        Client(workers) as client,
    ):
        yield client


@pytest.mark.slow  # starts processes
@pytest.mark.filterwarnings("ignore")  # of the cluster itself
def test_a_worker_that_dies_loses_and_doubles_nothing(cluster, tmp_path):
    numbers, results = zip(*run_chunks(die_once, tmp_path / "died", range(8), cluster), strict=True)
    assert sorted(numbers) == list(range(8))
    assert [chunk for _, chunk in sorted(results, key=lambda r: r[1])] == list(range(8))
    assert (tmp_path / "died").exists() and os.getpid() not in {process for process, _ in results}


class Counted:
    """Counts how often it is sent."""

    def __init__(self, folder):
        self.folder = folder

    def __getstate__(self):
        (self.folder / f"{len(list(self.folder.iterdir()))}").touch()
        return {"folder": self.folder}

    def doubled(self, item):
        return os.getpid(), 2 * item


@pytest.mark.slow  # starts processes
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("by_address", [False, True])
def test_an_object_is_sent_once_for_all_calls_with_it(cluster, tmp_path, by_address):
    """Once by this process, whatever the number of calls; another object is sent too."""
    scheduler = cluster.scheduler.address if by_address else cluster
    map_items, sent = as_finished(scheduler), []
    for name in ("first", "first", "first", "second"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        one = one if name == "first" and sent else Counted(folder)
        results = list(map_items(one.doubled, range(4)))
        assert sorted(item for _, item in results) == [0, 2, 4, 6]
        assert all(process != os.getpid() for process, _ in results)
        sent.append(len(list(folder.iterdir())))
    assert sent[0] >= 1 and sent == [sent[0]] * 4


@pytest.mark.slow  # starts processes
@pytest.mark.filterwarnings("ignore")
def test_processes_give_the_bits_of_one(cluster):
    rng = np.random.default_rng(0)
    tasks = [tuple(rng.normal(size=(n, 1)) for n in (3, 3, 2)) for _ in range(6)]
    model = ProcessModel(GP(SquaredExponential(0.5), noise=0.01))
    options = {"key": 0, "num_samples": 2, "chunk_size": 2}
    many = model.condition_many(tasks)
    expected = list(many.sample(**options))
    address = cluster.scheduler.address
    for scheduler in (cluster, "threads", address, "dask"):
        for (name, some), (own, others) in zip(
            many.sample(**options, scheduler=scheduler), expected, strict=True
        ):
            assert name == own
            assert_array_equal(some, others)


def test_a_damaged_chunk_is_named(tmp_path):
    chunks = FinishedChunks(tmp_path / "new", {"key": "1"})
    chunks.write(0, "digest", [np.arange(3)])
    path = tmp_path / "new" / "chunk-000000.npz"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ValueError, match="got a damaged file"):
        chunks.read(0, "digest")
