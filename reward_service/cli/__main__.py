"""`python -m reward_service.cli`, for children that must run this very installation."""

from reward_service.cli import main

main()
