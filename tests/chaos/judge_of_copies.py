"""Holds the copies that readers of committed records see against sources and journals.

Thread: any; no state but the verdict. The rules, by their numbers in a chaos run:

- Rule 5: a committed transaction is visible in full, an aborted one not at all, and one in
  doubt, or of a process that was killed in it, in full or not at all; the group's offsets are
  behind the last record.
- Rule 6: each record of the source has one copy, in its place.
- Rule 8: nothing holds readers of committed records back once all is quiet.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.chaos.verdict import Life, Verdict


@dataclass
class Copies:
    """What is there after a run, of one group.

    Attributes:
        source: The values of each partition, in order.
        visible: The values of copies that a reader of committed records sees, by its name.
        committed: The group's offset for each partition.
        held_back: Records of each partition between the last stable offset and the end.
    """

    source: Mapping[int, Sequence[bytes]]
    visible: Mapping[str, Mapping[int, Sequence[bytes]]]
    committed: Mapping[int, int]
    held_back: Mapping[int, int] = field(default_factory=dict)


def judge(lives: Sequence[Life], copies: Copies) -> Verdict:
    """Return the verdict on a group."""
    verdict = Verdict()
    for partition, held in copies.held_back.items():
        if held:
            verdict.wrong(f"8: {held} records of partition {partition} are held back")
    for partition, values in copies.source.items():
        offset = copies.committed.get(partition, 0)
        if offset != len(values):
            verdict.wrong(
                f"5: partition {partition} is committed up to {offset} of {len(values)}"
            )
    for reader, visible in copies.visible.items():
        judge_order(reader, visible, copies.source, verdict)
    seen = Counter(
        b":".join(value.split(b":", 2)[:2]).decode()
        for values in next(iter(copies.visible.values()), {}).values()
        for value in values
    )
    for life in lives:
        judge_transactions(life, seen, verdict)
    return verdict


def judge_order(
    reader: str,
    visible: Mapping[int, Sequence[bytes]],
    source: Mapping[int, Sequence[bytes]],
    verdict: Verdict,
) -> None:
    """Rule 6: each record has one copy, in its place."""
    for partition, values in source.items():
        found = [each.split(b":", 2)[2] for each in visible.get(partition, ())]
        if found == list(values):
            continue
        count, due = Counter(found), Counter(values)
        twice = sorted((count - due).elements())
        by = [
            each.rsplit(b":", 1)[0].decode()
            for each in visible.get(partition, ())
            if each.split(b":", 2)[2] in twice[:1]
        ]
        missing = sorted((due - count).elements())
        verdict.wrong(
            f"6: in partition {partition}, by {reader}: {len(twice)} too many {twice[:3]} in "
            f"transactions {by}, "
            f"{len(missing)} missing {missing[:3]}, or another order"
        )


def judge_transactions(life: Life, seen: Mapping[str, int], verdict: Verdict) -> None:
    """Rule 5: in full, or not at all."""
    begun: dict[int, int] = {}
    ended: dict[int, str] = {}
    for event in life.events:
        if event.kind == "begun":
            number, records, *_ = event.what
            begun[number] = records
        elif event.kind == "ended":
            number, how = event.what
            ended[number] = how
        elif event.kind == "error":
            verdict.endings[event.what] += 1
        elif event.kind == "logged":
            verdict.logged[event.what] += 1
        elif event.kind == "taken":
            verdict.counts["ids taken by a rival"] += 1
        elif event.kind == "rivalry":
            verdict.endings[f"a rival's: {event.what}"] += 1
        elif event.kind == "born":
            verdict.styles[event.what] += 1
    for number, records in begun.items():
        how, found = ended.get(number, "unknown"), seen.get(f"{life.name}:{number}", 0)
        verdict.counts[how] += 1
        verdict.counts["records"] += records if how == "committed" else 0
        allowed = {"committed": {records}, "aborted": {0}}.get(how, {0, records})
        if found not in allowed:
            verdict.wrong(
                f"5: {life.name} {number} is {how}, with {found} of {records} records visible"
            )
