"""Counts of work that no program can avoid: never above what the best algorithm needs."""

import pytest
import torch

from reward_service.runner.work import multiplications, shares_read

SHARES = {
    "a sum": (lambda x: x.sum(1), 1.0),
    "half of the columns": (lambda x: x[:, :32] * 2, 0.5),
    "a mean": (lambda x: x.mean(), 1.0),
    "in place": (lambda x: x.mul_(2), 1.0),
    "a gather": (lambda x: x[torch.tensor([3, 5])], 2 / 64),
    "a constant": (lambda x: torch.ones(3), 0.0),
    "what cancels": (lambda x: torch.layer_norm(x, (64,)).mean(1), 0.0),
    "what has no gradient": (lambda x: x.argmax(1), 0.0),
    "what raises": (lambda x: x.numpy(), 0.0),
    "several outputs": (lambda x: [x[:, :16].exp(), {"b": x[:, 16:48] + 1}], 0.75),
}


@pytest.mark.parametrize("name", SHARES)
def test_the_share_of_an_input_that_must_be_read(name):
    function, share = SHARES[name]
    x = torch.randn(64, 64, dtype=torch.float64)
    assert shares_read(lambda leaves: function(leaves[0]), [x]) == [share]


def test_nothing_is_known_of_integers():
    table = torch.randn(8, 4, dtype=torch.float64)
    index = torch.arange(4)
    shares = shares_read(lambda leaves: leaves[0][leaves[1]], [table, index])
    assert shares == [0.5, 0.0]


A, B = torch.randn(8, 16), torch.randn(16, 32)
W = torch.randn(32, 16)
IMAGE, KERNEL = torch.randn(2, 3, 10, 10), torch.randn(5, 3, 3, 3)
GIVEN = [A, B, W, IMAGE, KERNEL]
PRODUCT = 8 * 16 * 32

COUNTS = {
    "a product": (lambda: A @ B, PRODUCT),
    "a linear layer": (lambda: torch.nn.functional.linear(A, W, torch.ones(32)), PRODUCT),
    "with pointwise functions after it": (lambda: ((A @ B).sigmoid() + 1).t(), PRODUCT),
    "of three dimensions": (lambda: A.view(2, 4, 16) @ B, PRODUCT),
    "in batches": (lambda: torch.bmm(A.view(2, 4, 16), B.view(2, 16, 16)), 2 * 4 * 16 * 16),
    "a convolution": (
        lambda: torch.nn.functional.conv2d(IMAGE, KERNEL),
        2 * 5 * 8 * 8 * 3,
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_the_multiplications_of_a_generic_product_count(name):
    function, count = COUNTS[name]
    assert multiplications(function, GIVEN) == count


REWRITABLE = {
    "a sum over it": lambda: (A @ B).sum(1),
    "a sum that is spread again": lambda: torch.ones(8, 32) + (A @ B).sum(1, keepdim=True),
    "a second product": lambda: (A @ B) @ W,
    "a diagonal": lambda: torch.diag(torch.ones(16)) @ B,
    "an operand that was made": lambda: (A * 2) @ B,
    "a repeated operand": lambda: torch.bmm(A.expand(4, 8, 16), B.expand(4, 16, 32)),
    "a product that nobody wants": lambda: (A @ B, torch.ones(8, 32))[1],
    "no product": lambda: A + 1,
    "part of it": lambda: torch.softmax(A @ B, 1),
}


@pytest.mark.parametrize("name", REWRITABLE)
def test_what_can_be_rewritten_counts_nothing(name):
    assert multiplications(REWRITABLE[name], GIVEN) == 0


def test_zeros_do_not_count():
    a, b = torch.ones(16, 16).tril(), torch.ones(16, 16).triu()
    assert multiplications(lambda: a @ b, [a, b]) <= 16**3 * 0.3
    assert multiplications(lambda: (A @ B) * torch.eye(8, 32), GIVEN) <= PRODUCT / 8
