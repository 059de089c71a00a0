"""A step of TRL's own trainer on the rewards of the service."""

from __future__ import annotations

import inspect
import pickle

import pytest
import torch
from datasets import Dataset
from service_harness import PROBLEM
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from reward_service.rewards.book import RewardBook
from reward_service.schemas import Outcome, Speedup
from trainer_client.adapters.trl import reward_function

# TRL, transformers and accelerate warn of each other.
pytestmark = pytest.mark.filterwarnings("default")

GOOD, BAD, SICK = "{}", '{"judge":[["fail","MISMATCH"]]}', '{"judge":[["infra"]]}'
PROGRAMS = [
    f"class ModelNew: n = {n} # actions: {actions}"
    for actions in (GOOD, BAD, SICK)
    for n in range(8)
]
SPECIAL = {"pad_token": "<pad>", "eos_token": "<eos>", "unk_token": "<unk>"}
GROUP = 12


def _tokenizer() -> PreTrainedTokenizerFast:
    """Each whole program is one word, so that a model that knows nothing writes programs."""
    words = [*SPECIAL.values(), "write", *PROGRAMS]
    tokenizer = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL)


def _model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)


class Watched(GRPOTrainer):
    """Keeps what it scored."""

    def _generate_and_score_completions(self, inputs):
        self.scored = super()._generate_and_score_completions(inputs)
        return self.scored


@pytest.fixture
def trainer(api, tmp_path):
    torch.manual_seed(0)
    tokenizer = _tokenizer()
    prompts = {"prompt": ["write"] * 2, "problem": [PROBLEM] * 2}
    return Watched(
        model=_model(tokenizer),
        processing_class=tokenizer,
        reward_funcs=[reward_function(api.url, deadline_s=4.0)],
        train_dataset=Dataset.from_dict(prompts),
        args=GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=2 * GROUP,
            num_generations=GROUP,
            max_completion_length=1,
            max_steps=1,
            learning_rate=1e-2,
            report_to=[],
            use_cpu=True,
            seed=3,
            bf16=False,
            logging_steps=1,
            disable_tqdm=True,
        ),
    )


def test_what_the_service_could_not_judge_leaves_the_group_as_it_is(trainer):
    before = [p.detach().clone() for p in trainer.model.parameters()]
    trainer.train()
    tokenizer = trainer.processing_class
    said = tokenizer.batch_decode(trainer.scored["completion_ids"], skip_special_tokens=True)
    advantages = trainer.scored["advantages"].view(-1, GROUP)
    rewards = _rewards(said).view(-1, GROUP)
    assert rewards.isnan().any(dim=1).all()
    for group, got in zip(rewards, advantages, strict=True):
        scored = group[~group.isnan()]
        assert len(scored.unique()) > 1
        wanted = (group - scored.mean()) / (scored.std() + 1e-4)
        assert torch.allclose(got, wanted.nan_to_num(0.0), atol=1e-3)
    history = trainer.state.log_history[0]
    assert history["rewards/kernel_reward/mean"] == pytest.approx(
        float(rewards.nanmean()), abs=1e-4
    )
    unscored = float(rewards.isnan().float().mean())
    assert history["outcome/unscored"] == pytest.approx(unscored)
    after = trainer.model.parameters()
    assert any(not torch.equal(a, b) for a, b in zip(before, after, strict=True))


def _rewards(said: list[str]) -> torch.Tensor:
    """By the default reward config: a speedup of at least 1.9, wrong, not judged, no program."""
    return torch.tensor([_reward(text) for text in said])


def _reward(text: str) -> float:
    if text.endswith(SICK):
        return float("nan")
    fast = Speedup(value=2.0, low=1.9, high=2.1, baseline="eager")
    config = RewardBook().resolve("log_speedup")
    return config.score(Outcome.CORRECT, None, fast) if text.endswith(GOOD) else 0.0


def test_it_goes_to_another_process():
    function = pickle.loads(pickle.dumps(reward_function("http://127.0.0.1:1")))
    assert inspect.iscoroutinefunction(function)


def test_a_dataset_without_problems_is_told_so(trainer):
    function = reward_function("http://127.0.0.1:1", problem_column="task")
    trainer.reward_funcs = [function]
    with pytest.raises(ValueError, match="no column 'task'"):
        trainer.train()
