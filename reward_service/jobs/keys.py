"""The names of everything that the service keeps in Valkey, besides RQ's own keys."""

from __future__ import annotations

EVENTS = "reward:events"
"""Stream; one entry a transition: `id`, `state`."""
DEADLINES = "reward:deadlines"
"""Sorted set of all evaluations that are not done: id -> deadline."""
HELD = "reward:held"
"""Set of the tickets that somebody works on."""
QUEUES = "reward:queues"
"""Set of the queue names ever used."""
PROCESSES = "reward:processes"
"""Set of the names of builders and workers, some of them dead."""
CLASSES = "reward:classes"
"""Set of the device classes ever served."""
SWEEPING = "reward:sweeping"
"""Present while a sweep is recent enough."""
TOKENS = "reward:tokens"
"""Hash: SHA-256 of a token's secret -> the token in JSON (`tokens.py`)."""
CLIENTS = "reward:clients"
"""Set of the names of all clients that ever submitted; each is a token's, or was."""

ARTIFACTS_USED = "reward:artifacts:used"
"""Sorted set: key of an artifact -> count of uses, of all of them, at its last one."""
ARTIFACTS_BYTES = "reward:artifacts:bytes"
"""Hash: key of an artifact -> its bytes; under `total` and `uses` the sum and the count."""

BUILD_QUEUE = "build"


def run_queue(device_class: str) -> str:
    """Name of the queue of a device class."""
    return f"run:{device_class}"


def evaluation(id: str) -> str:
    """Hash: one evaluation."""
    return f"reward:evaluation:{id}"


def by_key(key: str) -> str:
    """String: id of the evaluation that does, or did, the work of this key."""
    return f"reward:key:{key}"


def batch(id: str) -> str:
    """String: one batch, as JSON (`jobs/batches.py`)."""
    return f"reward:batch:{id}"


def idempotency(client: str, key: str) -> str:
    """String: what the request with this key of a client made, as JSON (`jobs/idempotency.py`)."""
    return f"reward:idempotency:{client}:{key}"


def waiting(queue: str) -> str:
    """Sorted set of the tickets waiting in a queue: ticket -> since when."""
    return f"reward:waiting:{queue}"


def unfinished(client: str) -> str:
    """Set: ids of the evaluations that a client started and that are not done."""
    return f"reward:unfinished:{client}"


def window(queue: str, client: str) -> str:
    """Set: a client's tickets that stand in RQ's list, or were just taken from it."""
    return f"reward:window:{queue}:{client}"


def backlog(queue: str, client: str) -> str:
    """Sorted set: a client's tickets that wait for room in RQ's list -> when accepted."""
    return f"reward:backlog:{queue}:{client}"


def lease(ticket: str) -> str:
    """String with a time to live: who works on the ticket."""
    return f"reward:lease:{ticket}"


def process(name: str) -> str:
    """String with a time to live: a live builder or worker."""
    return f"reward:process:{name}"


def artifact(key: str) -> str:
    """Hash: one artifact, or a failure to build it (`build/store_redis.py`)."""
    return f"reward:artifact:{key}"


def artifact_on_its_way(token: str) -> str:
    """The same while it is being written; it expires if the writer dies."""
    return f"reward:artifact:new:{token}"


def ticket(id: str, serial: int) -> str:
    """Name of the serial-th permission to work on an evaluation."""
    return f"{id}-{serial}"


def id_of(ticket: str) -> str:
    """The evaluation that a ticket is for."""
    return ticket.rpartition("-")[0]
