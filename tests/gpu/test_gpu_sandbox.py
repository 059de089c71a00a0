"""The sandbox around CUDA: what libraries need is there, what a candidate must not have is not."""

from __future__ import annotations

import pytest

from tests.e2e.test_judge_cpu import POINTWISE, POINTWISE_HONEST, PROBLEM, with_forward
from tests.runners import files_of_references

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(900)]

LIBRARIES = {
    "cuBLAS": "torch.mm(x, x.T)",
    "cuDNN": "torch.conv2d(x[None, None], x[None, None, :3, :3])",
    "cuFFT": "torch.fft.rfft(x)",
    "cuSOLVER": "torch.linalg.qr(x)",
    "cuSPARSE": "x.relu().to_sparse_csr() @ x.T",
    "cuRAND": "torch.rand_like(x)",
    "NVRTC": "torch.special.airy_ai(x)",
    "page-locked memory": "torch.empty(1 << 20, pin_memory=True)",
    "a graph": """
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph): x * 2
graph.replay()
""",
    "the profiler": """
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
    torch.relu(x); torch.cuda.synchronize()
assert any('relu' in e.name.lower() or 'clamp' in e.name.lower() for e in p.events())
""",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_works_in_the_sandbox(judge_gpu, library):
    body = f"""
if self.calls == 1:
{chr(10).join("    " + line for line in LIBRARIES[library].strip().splitlines())}
    torch.cuda.synchronize()
return self.right(x)
"""
    judgement = judge_gpu(
        PROBLEM, with_forward(body), stop_after="correctness", time_limit_s=60, deadline_s=300
    )
    assert judgement.failure is None, judgement.failure


def test_a_baseline_compiled_by_triton(judge_gpu, gpu):
    judgement = judge_gpu(POINTWISE, POINTWISE_HONEST, baseline="compile", deadline_s=600)
    assert judgement.failure is None, judgement.failure
    assert judgement.speedup.baseline == "compile"
    assert files_of_references(gpu, "*.cubin")


@pytest.mark.root
def test_what_a_candidate_must_not_have_is_not_there(judge_gpu):
    body = """
for attempt in (
    lambda: open('/etc/passwd'),
    lambda: os.listdir('/tmp'),
    lambda: open('/tmp/here', 'w'),
    lambda: open('/proc/%d/cmdline' % os.getppid()),
    lambda: os.kill(os.getppid(), 0),
    lambda: socket.socket(socket.AF_INET),
    lambda: open('/dev/mem', 'rb'),
    lambda: os.listdir('/dev'),
):
    try: attempt()
    except OSError: continue
    raise AssertionError('allowed')
return self.right(x)
"""
    judgement = judge_gpu(PROBLEM, with_forward(body), stop_after="correctness")
    assert judgement.failure is None, judgement.failure
