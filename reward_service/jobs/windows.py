"""Fair share: a client has at most so many tickets of a queue in RQ's list, its *window*.

The rest of its tickets wait in a backlog of its own, the oldest evaluation first. Whenever one
leaves the list, the next of the same client goes to the list's tail, in the same transaction.
So whoever comes new waits behind at most one window of each other client, and clients that
have a backlog are served in turn. RQ knows nothing of it: its list stays first in, first out.

A transaction cannot decide by what it has not watched, and watching a window would make all
submissions of a client collide; so the one decision, whether there is room, is a script.

The window counts by name, not by number: a ticket that RQ's worker took and never claimed
keeps its room until the sweeper replaces it, and nothing can be counted twice. What no move
of ours brings about, a ticket held back although there is room, or a place held by one that
waits no more, comes of a changed size, or of a process that knows no windows; the sweeper
mends it.
"""

from __future__ import annotations

from reward_service.jobs import keys
from reward_service.jobs.connection import Pipeline

# KEYS: RQ's list, the window, the backlog, all that wait in the queue. ARGV: the window's size
# and, where there is one, the ticket and when its evaluation was accepted.
NAMES = "local list, window, backlog, ticket = KEYS[1], KEYS[2], KEYS[3], ARGV[2]"
FORGET = """
for _, placed in ipairs(redis.call('SMEMBERS', window)) do
  if not redis.call('ZSCORE', KEYS[4], placed) then
    redis.call('SREM', window, placed)
  end
end
"""
FILL = """
local room = tonumber(ARGV[1]) - redis.call('SCARD', window)
if room > 0 then
  local oldest = redis.call('ZPOPMIN', backlog, room)
  for i = 1, #oldest, 2 do
    redis.call('SADD', window, oldest[i])
    redis.call('RPUSH', list, oldest[i])
  end
end
"""
STAND_IN = """
redis.call('LREM', list, -1, ticket)
redis.call('ZADD', backlog, ARGV[3], ticket)
"""
LEAVE = """
redis.call('SREM', window, ticket)
redis.call('ZREM', backlog, ticket)
"""


class Share:
    """What one client has in one queue; `listed` is the key of RQ's list, `size` the window's.

    All methods add commands to a caller's transaction.
    """

    def __init__(self, queue: str, client: str, listed: str, size: int) -> None:
        self._client = client
        self._listed = listed
        self._window = keys.window(queue, client)
        self._backlog = keys.backlog(queue, client)
        self._waiting = keys.waiting(queue)
        self._size = size

    def stand_in(self, ticket: str, accepted: float, pipe: Pipeline) -> None:
        """RQ has put the ticket at the tail: it stays there if it is its turn."""
        pipe.sadd(keys.CLIENTS, self._client)
        self._run(STAND_IN + FILL, pipe, ticket, accepted)

    def go_first(self, ticket: str, pipe: Pipeline) -> None:
        """RQ has put the ticket at the front, room or not; it takes a place all the same."""
        pipe.sadd(self._window, ticket)
        pipe.sadd(keys.CLIENTS, self._client)

    def leave(self, ticket: str, pipe: Pipeline) -> None:
        """The ticket was claimed or withdrawn: the next one's turn."""
        self._run(LEAVE + FILL, pipe, ticket)

    def mend(self, pipe: Pipeline) -> None:
        """Free the places of tickets that wait no more, and let go what has room."""
        self._run(FORGET + FILL, pipe)

    def _run(self, script: str, pipe: Pipeline, *arguments: str | float) -> None:
        places = (self._listed, self._window, self._backlog, self._waiting)
        pipe.eval(NAMES + script, len(places), *places, self._size, *arguments)
