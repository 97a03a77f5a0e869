"""What a run leaves behind."""

import os

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mnist_gan import _game, _metrics


def test_the_folder_holds_what_it_promises(finished):
    found = sorted(path.name for path in finished.iterdir())
    assert found == [
        ".lock",
        "checkpoints",
        "config.json",
        "losses.png",
        "metrics.parquet",
        "samples.parquet",
        "samples.png",
        "tensorboard",
    ]


def test_the_step_is_traced_once_a_run(call, small, tmp_path, monkeypatch):
    """Neither the end of an epoch nor a checkpoint has another program compiled."""
    traced, update = [], _game.update

    def counted(recipe, mesh):
        steps = update(recipe, mesh)

        def count(state, images):
            traced.append(len(images))
            return steps(state, images)

        return count

    monkeypatch.setattr(_game, "update", counted)
    options = ("--data", small, "--devices", 1, "--out", tmp_path / "run")
    said = call("train", *options, "--batch-size", 16, "--steps", 3)
    assert (said.code, traced) == (0, [1]), said.err  # 40 digits: two batches an epoch
    said = call("train", *options, "--resume", "--steps", 5)
    assert (said.code, traced) == (0, [1, 1]), said.err


def test_the_config_says_what_was_run(finished, config):
    found = config(finished)
    assert found["recipe"] == "fast"
    assert (found["steps"], found["batch_size"], found["seed"]) == (12, 8, 0)
    assert (found["data"], found["rows"]) == ("(shipped)", 10_000)
    assert set(found["versions"]) >= {"python", "jax", "jaxlib", "arrow-jax"}


def test_metrics_have_a_row_a_step(finished):
    table = pq.read_table(finished / "metrics.parquet")
    assert table.schema.equals(_metrics.SCHEMA)
    np.testing.assert_array_equal(table["step"], np.arange(1, 13))
    disc, gen = (table[name].to_numpy() for name in ("disc_loss", "gen_loss"))
    assert np.isfinite([disc, gen]).all()
    assert abs(disc[0] - 2 * np.log(2)) < 0.3  # it starts out not knowing
    assert (table["images_per_second"].to_numpy() > 0).all()
    assert (table["data_wait_seconds"].to_numpy() >= 0).all()


def test_the_sheet_is_eight_by_eight_digits(finished, pixels):
    assert pixels(finished / "samples.png").shape == (2 * (8 * 30 + 2),) * 2


def test_the_plot_is_a_picture_with_the_lines_drawn(finished, pixels):
    plot = pixels(finished / "losses.png")
    height, width, _ = plot.shape
    assert (height, width) == (550, 880)
    red = plot[..., 0] > plot[..., 1] + 80.0
    assert (red.sum(1) > width / 3).sum() >= 2  # two dashed lines across


def test_samples_are_an_image_column_for_datasets(finished, pixels):
    file = str(finished / "samples.parquet")
    read = datasets.Dataset.from_parquet(file, keep_in_memory=True)
    assert read.features == {"image": datasets.Image()}
    assert len(read) == 64
    assert read[0]["image"].size == (28, 28)
    sheet = pixels(finished / "samples.png")[::2, ::2]
    np.testing.assert_array_equal(np.asarray(read[0]["image"]), sheet[2:30, 2:30])
    np.testing.assert_array_equal(np.asarray(read[9]["image"]), sheet[32:60, 32:60])


def test_samples_are_readable_without_us(finished):
    table = pq.read_table(finished / "samples.parquet")
    png = table["image"][0].as_py()["bytes"]
    assert png.startswith(b"\x89PNG")
    assert pa.types.is_struct(table.schema.field("image").type)


def test_tensorboard_events_hold_every_step(finished):
    from tensorboardX.proto import event_pb2
    from tensorboardX.record_writer import RecordWriter

    del RecordWriter  # the format's writer; its framing is read here by hand
    (file,) = (finished / "tensorboard").iterdir()
    data, steps, at = file.read_bytes(), [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 8], "little")
        event = event_pb2.Event.FromString(data[at + 12 : at + 12 + length])
        steps += [event.step for v in event.summary.value if v.tag == "disc_loss"]
        at += 16 + length
    assert steps == list(range(1, 13))


def test_the_terminal_says_what_comes_and_what_was_done(call, small, tmp_path):
    out = tmp_path / ("long" * 30)  # which no line is broken for
    said = call(
        *("train", "--data", small, "--out", out, "--steps", 3),
        *("--batch-size", 8, "--devices", 1),
    )
    assert said.code == 0
    lines = said.out.splitlines()
    assert lines[0].startswith("fast: the reference, normalised")
    assert lines[1].startswith("3 steps of 8 digits on 1 CPU device")
    assert "about" in lines[1]
    assert "114,913" in said.out
    assert "276,546" in said.out
    assert "5 x 5 x 64 x 128" in said.out
    assert any(line.startswith("step 3 of 3  disc ") for line in lines)
    assert "\x1b" not in said.out
    assert lines[-1] == f"done: {out}/samples.png, losses.png, metrics.parquet, ..."


def test_a_finished_run_goes_on_to_more_steps(call, run_folder, config):
    unfinished = run_folder / "checkpoints/13.orbax-checkpoint-tmp"
    unfinished.mkdir()  # as a killed process leaves it
    arguments = ["--resume", "--out", run_folder, "--devices", "1", "--steps", "15"]
    said = call("train", *arguments)
    assert said.code == 0
    assert "step 13 of 15" in said.out
    steps = pq.read_table(run_folder / "metrics.parquet")["step"]
    np.testing.assert_array_equal(steps, np.arange(1, 16))
    assert config(run_folder)["steps"] == 15
    assert not unfinished.exists()


def test_checkpoints_that_cannot_be_written_are_found_first(
    call, run_folder, monkeypatch
):
    access, place = os.access, run_folder / "checkpoints"
    monkeypatch.setattr(
        os, "access", lambda path, mode: path != place and access(path, mode)
    )
    said = call(
        "train", "--resume", "--out", run_folder, "--devices", "1", "--steps", 15
    )
    assert said.code == 2
    assert said.err.rstrip().endswith(f"{place} cannot be written to; name another")


def test_eight_devices_by_option(call, tmp_path):
    out = tmp_path / "out"
    said = call(
        *("train", "--devices", 8, "--batch-size", 8, "--steps", 2, "--out", out)
    )
    assert said.code == 0
    assert "on 8 CPU devices" in said.out


def test_losses_that_stop_being_finite_end_the_run(call, small, tmp_path, monkeypatch):
    import jax.numpy as jnp

    from mnist_gan import _recipes

    recipe = _recipes.RECIPES["fast"]
    broken = recipe._replace(
        losses=recipe.losses._replace(gen=lambda real, _: jnp.nan * real.sum())
    )
    monkeypatch.setitem(_recipes.RECIPES, "fast", broken)
    said = call(
        *("train", "--data", small, "--out", tmp_path / "out", "--steps", 9),
        *("--batch-size", 8, "--devices", 1),
    )
    assert said.code == 3
    assert "stopped being finite at step 1" in said.err
    assert said.err.count("\n") == 1
