"""Generators of pages and modules; each depends on nothing but its table."""
