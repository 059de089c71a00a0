"""A real builder, worker, API or `up` process around stages that do what the candidate says.

The candidate's program is JSON, `{"build": [...], "judge": [...]}`: each a list of actions; or
Python, with the JSON behind `# actions: ` in one of its lines, if it is to do anything.
`["gate", NAME]` waits for the file NAME.open (and notices the end of the evaluation, unless it
is `["wall", NAME]`), `["lost", NAME]` is a module that has gone, the first time it is met,
`["fail", REASON]`, `["bug"]`, `["infra"]`, `["die"]`. Each start of a stage adds a line to the
file `log`.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from reward_service.cli import common, up
from reward_service.errors import ArtifactLostError, DeviceError
from reward_service.findings import Built, Context, Finding, Judgement
from reward_service.formats.program import program_of
from reward_service.jobs.process import run_builder, run_worker
from reward_service.rewards.book import RewardBook
from reward_service.schemas import (
    BuildReport,
    Check,
    DeviceInfo,
    Provenance,
    Reason,
    Speedup,
    Submission,
    Timing,
)

DEADLINE_S = 60


class Stages:
    def __init__(self, directory: Path, device: str) -> None:
        self.directory = directory
        self.device = device

    def build(self, submission: Submission, problem: str, context: Context) -> Built | Finding:
        assert "class Model" in problem
        failed = self._act("build", submission, context)
        report = BuildReport(path="split", seconds=0.01)
        return failed or Built(report=report, artifacts={"0": "a" * 64}, compiler="fake 1.0")

    def judge(
        self, submission: Submission, problem: str, built: Built, context: Context
    ) -> Judgement:
        assert built.artifacts == {"0": "a" * 64}
        failed = self._act("judge", submission, context)
        return Judgement(
            failure=failed,
            checks=(Check(name="fresh", passed=failed is None, evidence={"worst": float("nan")}),),
            speedup=None if failed else Speedup(value=2.0, low=1.9, high=2.1, baseline="eager"),
            candidate_time_s=Timing(median=1e-3, spread=1e-5, calls=30),
            stages={"timing": 0.001},
            provenance=Provenance(
                service_version="", harness_hash="", device_class=self.device, seed="00"
            ),
        )

    def info(self) -> DeviceInfo:
        return DeviceInfo(
            device_class=self.device,
            name="a fake",
            uuid=self.device,
            state="idle",
            isolation="standard",
            worker="",
        )

    def _act(self, stage: str, submission: Submission, context: Context) -> Finding | None:
        with (self.directory / "log").open("a") as log:
            log.write(f"{stage} {context.id}\n")
        actions = _actions(program_of(submission.candidate)).get(stage, [])
        for action, *arguments in actions:
            if action in ("gate", "wall"):
                self._gate(arguments[0], context if action == "gate" else None)
            elif action == "fail":
                return Finding(Reason(arguments[0]), "it failed\udcff", evidence={"at": 3})
            elif action == "bug":
                raise KeyError("a secret of the service")
            elif action == "infra":
                raise DeviceError("the device is unwell")
            elif action == "lost" and not (self.directory / arguments[0]).exists():
                (self.directory / arguments[0]).touch()
                raise ArtifactLostError("a module has gone")
            elif action == "die":
                os.kill(os.getpid(), signal.SIGKILL)
        return None

    def _gate(self, name: str, context: Context | None) -> None:
        (self.directory / f"{name}.entered").touch()
        until = time.monotonic() + DEADLINE_S
        while not (self.directory / f"{name}.open").exists():
            assert time.monotonic() < until, f"nobody opened {name}"
            if context is not None:
                context.check()
            time.sleep(0.01)


def _actions(program: str) -> dict[str, Any]:
    _, marked, line = program.rpartition("# actions: ")
    is_json = marked or program.startswith("{")
    return dict(json.loads(line.partition("\n")[0])) if is_json else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("part", choices=["builder", "worker", "up", "lacking"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    if arguments.part == "lacking":
        sys.exit(common.EXIT_PREREQUISITE)
    common.start(with_parent="PARENT" in os.environ)
    settings = common.load_settings()
    stages = Stages(arguments.directory, arguments.device)
    if arguments.part == "up":
        this = [sys.executable, __file__]
        parts = os.environ.get("PARTS", "builder worker").split()
        os.environ["PARENT"] = "1"
        up.run_up(settings, {part: [*this, part, str(arguments.directory)] for part in parts})
    elif arguments.part == "builder":
        run_builder(settings, common.store_url(settings), stages.build, RewardBook())
    else:
        url = common.store_url(settings)
        run_worker(settings, url, stages.judge, stages.info, RewardBook())


if __name__ == "__main__":
    logging.captureWarnings(True)
    main()
