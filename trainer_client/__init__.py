"""Trains a block-diffusion language model on the rewards of `reward_service`."""
