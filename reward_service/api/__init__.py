"""The HTTP side of the service: `create_app` makes it, each route file adds a few routes.

A bad kernel is an answer with status 200; only a wrong request or a failing service is an
error, and every error is a problem+json (`errors.py`). Nothing here blocks the event loop:
Valkey is called in threads, and waiting is a future (`jobs.waiters`).
"""
