"""Trains kernel-writing models on the rewards of `reward_service`; `client` asks for them.

`AsyncRewardClient` is in `trainer_client.client`, its blocking twin `RewardClient` in
`trainer_client.blocking`, what they raise in `trainer_client.errors`. They need httpx, pydantic
and `reward_service.schemas`, nothing else.
"""
