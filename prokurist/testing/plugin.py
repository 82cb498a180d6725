"""The pytest plugin; its fixtures follow."""
