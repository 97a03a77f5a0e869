"""The launch files say what our command line and the clusters take."""

import math
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from mnist_gan import _cli, _exits

ROOT = Path(__file__).parent.parent
LAUNCH = ROOT / "launch"
SCRIPTS = ["slurm.sh", "tpu_vm.sh"]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]


def parsed(words):
    return _cli._parser().parse_args(words)


@pytest.fixture(scope="module")
def jobset():
    return yaml.safe_load((LAUNCH / "jobset.yaml").read_text())


@pytest.fixture(scope="module")
def job(jobset):
    (replicated,) = jobset["spec"]["replicatedJobs"]
    assert replicated["replicas"] == 1
    return replicated["template"]["spec"]


def test_the_jobset_is_one(jobset):
    assert jobset["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    assert jobset["kind"] == "JobSet"
    assert set(jobset["spec"]) == {"failurePolicy", "replicatedJobs"}
    assert re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", jobset["metadata"]["name"])


def test_hosts_and_chips_make_the_topology(job):
    pod = job["template"]["spec"]
    topology = pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"]
    (container,) = pod["containers"]
    chips = container["resources"]["limits"]["google.com/tpu"]
    assert job["parallelism"] == job["completions"]
    assert job["parallelism"] * chips == math.prod(map(int, topology.split("x")))
    arguments = parsed(container["command"][1:])
    assert math.prod(arguments.mesh.values()) == job["parallelism"] * chips
    assert arguments.batch_size % arguments.mesh["data"] == 0


def test_a_pod_is_started_again_by_the_jobset_alone(jobset, job):
    pod = job["template"]["spec"]
    assert job["backoffLimit"] == 0
    assert pod["restartPolicy"] == "Never"  # which podFailurePolicy asks for
    assert job["completionMode"] == "Indexed"
    (rule,) = job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == pod["containers"][0]["name"]
    assert rule["onExitCodes"]["values"] == [_exits.USER, _exits.DIVERGED]
    assert jobset["spec"]["failurePolicy"]["maxRestarts"] > 10


def test_the_same_command_goes_on_with_the_run(job):
    command = job["template"]["spec"]["containers"][0]["command"]
    assert command[:2] == ["mnist-gan", "train"]  # no shell: SIGTERM reaches it
    arguments = parsed(command[1:])
    assert arguments.resume == "auto"
    assert arguments.out.startswith("gs://")
    assert arguments.coordinator is None


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_bash(name):
    subprocess.run(["bash", "-n", LAUNCH / name], check=True)
    assert (LAUNCH / name).stat().st_mode & 0o100


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_call_what_there_is(name):
    text = (LAUNCH / name).read_text().replace("\\\n", " ")
    calls = re.findall(r"mnist-gan (train [^;\n]*|doctor)", text)
    calls = [line for line in calls if "--out" in line or line == "doctor"]
    assert calls
    for line in calls:
        arguments = parsed([word.strip("'\"") for word in shlex.split(line.strip('"'))])
        if arguments.command == "train":
            assert arguments.resume == "auto"


def test_slurm_has_a_process_a_device_of_the_mesh():
    text = (LAUNCH / "slurm.sh").read_text()
    options = dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*)$", text, re.MULTILINE))
    processes = int(options["nodes"]) * int(options["ntasks-per-node"])
    mesh = re.search(r"--mesh=(\S+)", text)[1]
    assert parsed(["train", "--mesh", mesh]).mesh == {"data": processes}
    assert options["gpus-per-node"] == options["ntasks-per-node"]
    assert options["signal"].startswith("TERM@")


def test_no_use_in_starting_again_ends_the_loops():
    for name in SCRIPTS:
        text = (LAUNCH / name).read_text()
        codes = re.search(r"(0 ?\| ?2 ?\| ?3)\)", text)[1]
        assert {int(code) for code in codes.split("|")} <= set(_exits.FINAL)


def test_the_tpu_script_reaches_all_workers():
    text = (LAUNCH / "tpu_vm.sh").read_text()
    assert text.count("--worker=all") == 1  # in `everywhere`, which all use
    actions = re.findall(r"^(\w+)\)$", text, re.MULTILINE)
    usage = re.search(r"\$0 ([a-z]+\|[a-z|]+)", text)[1]
    assert actions == usage.split("|")


def test_the_containerfile_copies_what_there_is():
    text = (LAUNCH / "Containerfile").read_text()
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", text, re.MULTILINE)
    for name in (name for line in copied for name in line.split()):
        assert (ROOT.parent / name).exists(), name
    assert re.search(r"^ARG EXTRA=(\w+)$", text, re.MULTILINE)[1] in EXTRAS
    assert 'ENTRYPOINT ["mnist-gan"]' in text


def test_the_extras_that_launch_files_name_exist():
    assert {"tpu", "cuda", "gs", "s3"} <= EXTRAS.keys()
