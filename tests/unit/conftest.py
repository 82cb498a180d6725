"""Examples of Hypothesis have no time of their own: a test as a whole has one, by pytest."""

from hypothesis import settings

# By default an example fails that takes 0.2 s, and so does a test whose first ones are drawn in
# more than a second: on a busy machine a process stands still for that long between two lines.
settings.register_profile("of a busy machine", deadline=None)
settings.load_profile("of a busy machine")
