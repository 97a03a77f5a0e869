import numpy as np
import pyarrow.parquet as pq

from mnist_gan._metrics import Metrics, Row


def metrics(tmp_path, after):
    return Metrics(tmp_path / "m.parquet", tmp_path / "events", after=after)


def test_rows_after_the_checkpoint_are_dropped_on_resume(tmp_path):
    first = metrics(tmp_path, None)
    for step in range(1, 6):
        first.add(Row(step, step / 2, 1.0, 100.0, 0.0))
    first.write()
    first.close()

    again = metrics(tmp_path, 3)
    again.add(Row(4, 9.0, 1.0, 100.0, 0.0))
    again.write()
    again.close()
    table = pq.read_table(tmp_path / "m.parquet")
    np.testing.assert_array_equal(table["step"], [1, 2, 3, 4])
    np.testing.assert_array_equal(table["disc_loss"], [0.5, 1.0, 1.5, 9.0])


def test_a_new_run_starts_empty(tmp_path):
    first = metrics(tmp_path, None)
    first.write()
    first.close()
    assert pq.read_table(tmp_path / "m.parquet").num_rows == 0


def test_pictures_are_events_that_tensorboard_reads(tmp_path):
    import io

    from PIL import Image
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import masked_crc32c  # of TensorBoard's file format

    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    kept = metrics(tmp_path, None)
    kept.add_picture("samples", picture, step=7)
    kept.close()
    (file,) = (tmp_path / "events").iterdir()
    data, events = file.read_bytes(), []
    while data:  # length, its checksum, the event, its checksum
        length = int.from_bytes(data[:8], "little")
        assert int.from_bytes(data[8:12], "little") == masked_crc32c(data[:8])
        events.append(Event.FromString(data[12 : 12 + length]))
        data = data[16 + length :]
    (event,) = [e for e in events if e.summary.value]
    assert event.step == 7
    assert event.summary.value[0].tag == "samples"
    with Image.open(io.BytesIO(event.summary.value[0].image.encoded_image_string)) as i:
        np.testing.assert_array_equal(np.asarray(i.convert("L")), picture)
