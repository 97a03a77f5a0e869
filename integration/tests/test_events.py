import io

import numpy as np
import pytest
from PIL import Image
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.record_writer import masked_crc32c

from chex_harness import Denied, DiskFull, faulty_files
from mnist_gan._errors import UserError
from mnist_gan._events import Events


def read(folder):
    """The events of the only file, by TensorBoard's format."""
    (file,) = folder.iterdir()
    assert "tfevents" in file.name
    data, events = file.read_bytes(), []
    while data:  # length, its checksum, the event, its checksum
        length = int.from_bytes(data[:8], "little")
        content = data[12 : 12 + length]
        assert int.from_bytes(data[8:12], "little") == masked_crc32c(data[:8])
        checksum = data[12 + length : 16 + length]
        assert int.from_bytes(checksum, "little") == masked_crc32c(content)
        events.append(Event.FromString(content))
        data = data[16 + length :]
    return events


def test_numbers_and_pictures(tmp_path):
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    events = Events(tmp_path / "events")
    events.add("loss", 0.5, step=6)
    events.add_picture("samples", picture, step=7)
    events.flush()
    first, number, drawn = read(tmp_path / "events")
    events.close()
    assert first.file_version == "brain.Event:2"
    assert number.step == 6
    assert number.wall_time > 1e9
    assert number.summary.value[0].tag == "loss"
    assert number.summary.value[0].simple_value == 0.5
    assert drawn.step == 7
    assert drawn.summary.value[0].tag == "samples"
    content = drawn.summary.value[0].image.encoded_image_string
    with Image.open(io.BytesIO(content)) as image:
        np.testing.assert_array_equal(np.asarray(image.convert("L")), picture)


def test_steps_that_are_made_again_are_forgotten(tmp_path):
    Events(tmp_path, purge=4).close()
    *_, start = read(tmp_path)
    assert (start.step, start.session_log.status) == (4, SessionLog.START)


def test_a_full_disk_is_said_and_nothing_waits(tmp_path):
    full = DiskFull(pattern="*tfevents*", after_bytes=100)
    with faulty_files(full):
        events = Events(tmp_path)

        def add_many():
            for step in range(1_000):  # more than any buffer or queue holds
                events.add("loss", 0.5, step=step)

        with pytest.raises(UserError, match=r"tfevents.* \(No space left on device\)"):
            add_many()
        with pytest.raises(UserError, match="No space left"):
            events.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    with (
        faulty_files(Denied(pattern="*tfevents*")),
        pytest.raises(UserError, match=r"tfevents.* \(Permission denied\)"),
    ):
        Events(tmp_path)


def test_a_run_ends_where_the_disk_takes_no_more_events(call, small, tmp_path):
    arguments = ["--data", small, "--steps", "2", "--batch-size", "8"]
    with faulty_files(DiskFull(pattern="*tfevents*", after_bytes=500)):
        said = call("train", *arguments, "--out", tmp_path / "out", "--devices", "1")
    assert said.code == 2
    last = said.err.strip().splitlines()[-1]
    assert last.startswith("mnist-gan: ")
    assert last.endswith(
        "(No space left on device); put that right, and go on with --resume"
    )
