"""Searching settings by partial labels alone: spaces, trials, studies, what they choose."""
