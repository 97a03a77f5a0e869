import threading

import pytest

from arrow_jax import ArrowJaxError
from arrow_jax._iterator import LoaderIterator, Produced
from arrow_jax._ledger import Ledger
from arrow_jax._step import Position


def run(batches, prefetch=0, finish=lambda x: x):
    made = (Produced(b, {"k": b}, Position(0, b)) for b in batches)
    return LoaderIterator(
        made,
        at=Position(),
        ledger=Ledger(),
        prefetch=prefetch,
        finish=finish,
        describe=lambda at: at.row,
    )


@pytest.mark.parametrize("prefetch", [0, 3])
def test_the_state_is_that_of_what_was_given(prefetch):
    with run([1, 2, 3], prefetch) as iterator:
        assert iterator.state() == 0
        assert next(iterator) == 1
        assert iterator.state() == 1
        assert iterator.host_columns == {"k": 1}
        assert list(iterator) == [2, 3]
        assert iterator.state() == 3


def test_a_batch_that_could_not_be_finished_was_not_given():
    def fail(batch):
        raise RuntimeError(batch)

    iterator = run([1, 2], finish=fail)
    with pytest.raises(RuntimeError):
        next(iterator)
    assert iterator.state() == 0


@pytest.mark.parametrize("prefetch", [0, 2])
def test_a_batch_whose_transform_was_interrupted_comes_again(prefetch):
    tries = []

    def interrupted_once(batch):
        tries.append(batch)
        if len(tries) == 2:
            raise KeyboardInterrupt
        return batch

    iterator = run([1, 2, 3], prefetch, finish=interrupted_once)
    assert next(iterator) == 1
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert iterator.state() == 1
    assert list(iterator) == [2, 3]
    assert tries == [1, 2, 2, 3]


@pytest.mark.parametrize("prefetch", [0, 2])
def test_after_closing_there_is_nothing(prefetch):
    iterator = run(range(9), prefetch)
    next(iterator)
    iterator.close()
    assert list(iterator) == []


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_run_that_failed_does_not_look_finished(prefetch):
    def batches():
        yield 1
        raise OSError("the disk is gone")

    with run(batches(), prefetch) as iterator:
        assert next(iterator) == 1
        with pytest.raises(OSError, match="the disk is gone"):
            next(iterator)
        for _ in range(2):
            with pytest.raises(ArrowJaxError) as error:
                next(iterator)
            assert str(error.value) == (
                "this run ended with OSError: the disk is gone, before its last batch. "
                "Go on with loader.resume(run.state())"
            )
        assert iterator.state() == 1


def test_an_interrupt_while_waiting_does_not_end_a_run_with_a_thread():
    go_on = threading.Event()

    def batches():
        yield 1
        go_on.wait(10)
        yield 2

    with run(batches(), 1) as iterator:
        assert next(iterator) == 1
        waiting = iterator._batches._channel.get
        calls = []

        def interrupted():
            if not calls:
                calls.append(1)
                raise KeyboardInterrupt
            return waiting()

        iterator._batches._channel.get = interrupted
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        go_on.set()
        assert list(iterator) == [2]
