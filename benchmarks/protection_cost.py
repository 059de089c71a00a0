"""What the protections cost: seconds per evaluation with all of them, and without each kind.

python benchmarks/protection_cost.py OUTPUT.json [--device cpu|cuda] [--repeat N]

A kind is left out by changing the source of a copy of the service, so that the service itself has
no switch for it; a change that does not apply any more ends the run. Every evaluation times the
same number of pairs, and judges a program that passes with and without.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(os.environ.get("PROTECTION_COST_ROOT", Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(ROOT))

from benchmarks.provenance import provenance  # noqa: E402 - the root must be on the path first
from reward_service.build.stage import BuildStage  # noqa: E402
from reward_service.devices.detect import device_names  # noqa: E402
from reward_service.findings import Built, Context, Finding  # noqa: E402
from reward_service.problems.library import ProblemLibrary  # noqa: E402
from reward_service.schemas import Submission  # noqa: E402
from reward_service.settings import Settings  # noqa: E402
from reward_service.worker.supervisor import Supervisor  # noqa: E402

LARGE = "level1/softmax"
"""An example; its inputs take 8 MiB or more."""
SMALL_PROBLEM = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x) * 2.0

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return []
"""
SMALL_CPU = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = r'''
torch::Tensor scaled_tanh(torch::Tensor x) {
    auto y = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = y.data_ptr<float>();
    for (int64_t i = 0, n = x.numel(); i < n; ++i) to[i] = std::tanh(from[i]) * 2.0f;
    return y;
}
'''
own = load_inline(name="own", cpp_sources=source, functions=["scaled_tanh"])

class ModelNew(nn.Module):
    def forward(self, x):
        return own.scaled_tanh(x)
"""
SMALL_CUDA = """
import torch
from torch import nn
from torch.utils.cpp_extension import load_inline

source = r'''
__global__ void kernel(const float* from, float* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = tanhf(from[i]) * 2.0f;
}
torch::Tensor scaled_tanh(torch::Tensor x) {
    auto y = torch::empty_like(x);
    int n = x.numel();
    kernel<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), n);
    return y;
}
'''
own = load_inline(
    name="own",
    cpp_sources="torch::Tensor scaled_tanh(torch::Tensor x);",
    cuda_sources=source,
    functions=["scaled_tanh"],
)

class ModelNew(nn.Module):
    def forward(self, x):
        return own.scaled_tanh(x)
"""
PAIRS = 12
Change = tuple[str, str, str]
"""File below `reward_service`, what stands there, and what shall."""
SAME_PAIRS: list[Change] = [
    ("judge/timing.py", "min_pairs: int = 12", f"min_pairs: int = {PAIRS}"),
    ("judge/timing.py", "max_pairs: int = 120", f"max_pairs: int = {PAIRS}"),
]
KINDS: dict[str, list[Change]] = {
    "sandbox of the runners": [
        (
            "runner/zygote.py",
            "        confine(\n",
            "        (lambda c, parent: (os.chdir(c.scratch), libc.die_with_parent(9)))(\n",
        ),
    ],
    "poison, guard bands, sharing, outputs read again": [
        (
            "runner/poison.py",
            "        start = 8 * secrets",
            "        return\n        start = 8 * secrets",
        ),
        ("runner/poison.py", "        held: list[Tensor] = []\n", "        return []\n"),
        ("runner/window.py", "if secrets.randbelow(POISON_ONE_IN) == 0", "if False"),
        ("runner/window.py", "        self._cuda.scribble()\n", ""),
        ("runner/main.py", "            self.calls.check_bounds()\n", ""),
        ("runner/main.py", "if everything and mode is Mode.WORKING", "if False"),
        ("judge/revisit.py", "if self._seen is not None or", "if True or"),
    ],
    "rest of the other side": [
        (
            "judge/pause.py",
            "        held = [self._pidfd]\n",
            "        yield\n        return\n        held = [self._pidfd]\n",
        ),
    ],
    "whose work it is": [
        ("judge/evaluate.py", 'if policy.library != "allow" and tells', "if False and tells"),
        (
            "judge/evaluate.py",
            "            if self.job.extensions:\n                with self._stage",
            "            if False:\n                with self._stage",
        ),
    ],
    "precision controls of the reference": [
        ("judge/reference.py", "            self._try_controls()\n", ""),
        ("judge/reference.py", "            self._count_work()\n", ""),
    ],
}


def main() -> int:
    """0 if every program was correct in every variant."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--device", choices=["cpu", "cuda"])
    parser.add_argument("--repeat", type=int, default=10)
    given = parser.parse_args()
    device = given.device or ("cuda" if device_names() else "cpu")
    everything = [change for changes in KINDS.values() for change in changes]
    variants = {
        "all protections": [],
        **{f"without {kind}": changes for kind, changes in KINDS.items()},
        "without all of these": everything,
    }
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # other users must get to what is below
        kept = os.environ.get("REWARD_SERVICE_STATE_DIR")
        state = Path(kept) if kept else folder / "state"
        small = SMALL_CPU if device == "cpu" else SMALL_CUDA
        large = (ROOT / "examples" / LARGE / f"{device}.py").read_text()
        jobs = [
            job("32 KiB", {"source": SMALL_PROBLEM}, small, state),
            job(LARGE, {"name": LARGE}, large, state),
        ]
        for number, (title, changes) in enumerate(variants.items()):
            copy = changed_copy(folder / f"copy-{number}", [*SAME_PAIRS, *changes])
            rows.append(
                {"variant": title, "programs": measure_in(copy, jobs, device, given.repeat, state)}
            )
            print(title, *(f"{p['name']} {p['seconds']:.3f} s" for p in rows[-1]["programs"]))
    whole = {"provenance": provenance("benchmarks/protection_cost.py"), "device": device}
    given.output.write_text(json.dumps({**whole, "pairs": PAIRS, "rows": rows}, indent=1))
    return int(any(p["failures"] for row in rows for p in row["programs"]))


def job(name: str, problem: dict[str, str], candidate: str, state: Path) -> dict[str, Any]:
    """A built candidate, as JSON."""
    submission = Submission.model_validate({"problem": problem, "candidate": {"source": candidate}})
    settings = Settings(state_dir=state)
    source = ProblemLibrary(settings.problem_dirs).resolve(submission.problem).source
    with BuildStage(settings, progress=print) as stage:
        built = stage(submission, source, Context("build", time.time() + 600))
    if isinstance(built, Finding):
        raise SystemExit(f"{name} was not built: {built.message}")
    return {
        "name": name,
        "submission": submission.model_dump(mode="json"),
        "problem": source,
        "built": built.model_dump(mode="json"),
    }


def changed_copy(folder: Path, changes: list[Change]) -> Path:
    """A copy of the service with its source changed."""
    for name in ("reward_service", "benchmarks"):
        ignore = shutil.ignore_patterns("__pycache__", "results", "corpus")
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    for file, old, new in changes:
        path = folder / "reward_service" / file
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{file} does not have {old!r} once: this script is out of date")
        path.write_text(text.replace(old, new))
    return folder


def measure_in(
    copy: Path, jobs: list[dict[str, Any]], device: str, repeat: int, state: Path
) -> list[dict[str, Any]]:
    """`measure`, by the copy's code."""
    request = {"jobs": jobs, "device": device, "repeat": repeat, "state": str(state)}
    done = subprocess.run(
        [sys.executable, __file__, "--measure"],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=copy,
        env={**os.environ, "PROTECTION_COST_ROOT": str(copy)},
    )
    rows: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return rows


def measure(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Seconds of evaluations, the reference being warm, and of the first one, which makes it so."""
    rows = []
    settings = Settings(state_dir=Path(request["state"]), min_isolation="reduced")
    device = "cpu" if request["device"] == "cpu" else "cuda:0"
    with Supervisor(settings, device) as supervisor:
        for item in request["jobs"]:
            submission = Submission.model_validate(item["submission"])
            built = Built.model_validate(item["built"])
            seconds, stages, failures = [], [], []
            for number in range(1 + request["repeat"]):
                context = Context(f"cost-{number}", time.time() + 300)
                start = time.perf_counter()
                judgement = supervisor.judge(submission, item["problem"], built, context)
                seconds.append(time.perf_counter() - start)
                stages.append(judgement.stages)
                if judgement.failure is not None:
                    failures.append(judgement.failure.message)
            median = {n: statistics.median(s.get(n, 0.0) for s in stages[1:]) for n in stages[0]}
            rows.append(
                {
                    "name": item["name"],
                    "seconds": statistics.median(seconds[1:]),
                    "spread": [min(seconds[1:]), max(seconds[1:])],
                    "first_seconds": seconds[0],
                    "stages": median,
                    "failures": failures,
                }
            )
    return rows


if __name__ == "__main__":
    if sys.argv[1:] == ["--measure"]:
        print(json.dumps(measure(json.load(sys.stdin))))
        sys.exit()
    sys.exit(main())
