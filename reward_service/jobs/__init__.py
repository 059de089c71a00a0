"""Evaluations in flight: their state, the queues, who works on them, and who waits for them.

The state of an evaluation is a hash in Valkey; RQ only carries *tickets* (`queue.py`). A ticket
is a permission to work on one evaluation once: it is issued when the evaluation is queued,
taken by one worker, and void as soon as another is issued or the evaluation ends. Every move
is one transaction (`lifecycle.py`) that checks the ticket, changes the hash, moves the ticket
and adds an entry to the events stream, so a reader of the stream sees every state, a late
result changes nothing, and the first verdict stays. Clients (`tokens.py`) get equal shares of
a queue because only so many tickets of each are in RQ's list at a time (`windows.py`).

    queued --claim--> building --built--> built --claim--> running --finish--> done
      ^------lease lost---|                 ^------lease lost---|
      ^---------------------what was built has gone-------------|

Leases are times to live in Valkey, so they need no clock; deadlines are on the hosts' clocks,
which are expected to agree to within what a client's patience can bear.

Whatever can go wrong between the moves is put right by the sweeper (`sweeper.py`): a lease
that nobody renews, a ticket that RQ no longer has, a deadline that has passed.
"""
