"""Recordings of both threads' work for a call: as text, for Perfetto, and as a picture.

from prokurist import timeline

with timeline.record(consumer) as recording:
consumer.commit_sync(timeout=2.0)
print(recording.text())
"""

from prokurist.timeline.entry import Entry as Entry
from prokurist.timeline.recording import Recording as Recording
from prokurist.timeline.recording import record as record

__all__ = ["Entry", "Recording", "record"]
