from mnist_gan import _doctor


def test_the_doctor_finds_devices_and_adds_them_up(call):
    said = call("doctor")
    assert said.code == 0, said.err
    for words in ("versions", "process 0 (", "8 x cpu", "8 CPU devices", "right,"):
        assert words in said.out


def test_an_accelerator_that_sits_unused(tmp_path, monkeypatch):
    monkeypatch.delenv("JAX_PLATFORMS", raising=False)
    assert _doctor.unused("cpu", tmp_path) == []
    (tmp_path / "nvidia0").touch()
    (tmp_path / "nvidia1").touch()
    (line,) = _doctor.unused("cpu", tmp_path)
    assert line.startswith("an NVIDIA GPU is here, and jax runs on the cpu")
    assert "pip install 'mnist-gan[cuda]'" in line
    assert _doctor.unused("gpu", tmp_path) == []
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    assert "unset JAX_PLATFORMS=cpu" in _doctor.unused("cpu", tmp_path)[0]
