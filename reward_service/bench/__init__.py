"""Measures what the service does on this machine; `reward-service bench` prints it."""
