"""Sequences of requests drawn by a seed, from a small grammar, for both sides alike.

What is drawn depends on the seed alone; a member or session is named by its place, and its
id is the one that the side gave.
"""

from random import Random
from typing import Any, Final

from prokurist.records.compression import Compression
from tests.conformance.accepted import ACCEPTED
from tests.conformance.classic import scene
from tests.conformance.committing import commit, offsets, position
from tests.conformance.comparing import Difference
from tests.conformance.producing import NO_PRODUCER, Producer, batch, produce
from tests.conformance.reading import epochs, fetch, list_offsets, wanted
from tests.conformance.sessions import Session
from tests.conformance.sides import Topic
from tests.conformance.stage import Pair, Scenario, Stage
from tests.conformance.transacting import (
    Numbers,
    Transactor,
    describe_producers,
    read_both,
)

STEPS: Final = 30


def random_reads(random: Random, stage: Stage) -> None:
    """Writes, deletions and reads in two sessions and without one."""
    topics = [stage.topic(2), stage.topic(2)]
    sessions = [Session(stage, "a"), Session(stage, "b")]
    for session in sessions:
        session.fetch(wanted(topics[0], (0, 0), (1, 0)), wanted(topics[1], (0, 0)))
    for _ in range(STEPS):
        place, partition = random.randrange(2), random.randrange(2)
        topic, session = topics[place], random.choice(sessions)
        offset = random.choice([0, 0, 1, 2, 3, 5, -1])
        match random.choice("ppffffsswgdrloe"):
            case "p":
                stage.produce(topic, *[b"x"] * random.randint(1, 3), partition=partition)
            case "f":
                session.fetch()
            case "s":
                session.fetch(wanted(topic, (partition, offset)))
            case "w":
                session.fetch(epoch=random.choice([0, 1, 7, -1]))
            case "g":
                session.fetch(forgotten=((topic, partition),))
            case "d":
                stage.side.delete_records(topic.name, partition, -1)
            case "r":
                topics[place] = stage.recreate(topic, 2)
            case "l":
                list_offsets(stage, topic, random.choice([-1, -2]), partition=partition)
            case "o":
                epoch = random.choice([-1, 0, 1])
                row = wanted(topic, (partition, offset), current_leader_epoch=epoch)
                fetch(stage, row, isolation_level=random.randrange(2))
            case "e":
                epochs(stage, topic, random.choice([0, 1]), at=partition)


def random_members(random: Random, stage: Stage) -> None:
    """Heartbeats, commits and look-ups of one or two members of the consumer protocol.

    Which of three has which partition is chance, in a real broker.
    """
    group = scene(stage)
    known = dict.fromkeys(("m1", "m2"), 0)
    for _ in range(STEPS):
        name = random.choice(list(known))
        epoch = random.choice([known[name]] * 5 + [0, -1, known[name] + 1])
        owned = random.choice([None, [], [0], [0, 1], [0, 1, 2, 3]])
        match random.choice("hhhhhcfj"):
            case "h":
                more: dict[str, Any] = {"owned": owned} if epoch > 0 else {}
                group.hb(name, epoch, **more)
            case "j":
                group.hb(name, 0)
            case "c":
                group.commit(name, epoch, random.randrange(4))
            case "f":
                group.fetch(name, epoch)
        told = group.facts[-1]
        if isinstance(told, tuple) and len(told) == 4 and told[1] == name:
            known[name] = max(0, told[2])


def random_commits(random: Random, stage: Stage) -> None:
    """Commits and look-ups of a group without members."""
    topics = [stage.topic(2), stage.topic(1)]
    for _ in range(STEPS):
        topic, group = random.choice(topics), f"{stage.name}-{random.randrange(2)}"
        row = (random.randrange(3), random.choice([-1, 0, 5]))
        member, epoch = random.choice([("", -1), ("", -1), ("x", -1), ("x", 0), ("", 2)])
        if random.random() < 0.6:
            commit(stage, group, position(topic, row), member=member, epoch=epoch)
        else:
            offsets(stage, group, (topic, (0, 1, 2)), everything=random.random() < 0.4)


def random_classic(random: Random, stage: Stage) -> None:
    """Two members of a classic group that join, sync, beat, commit and leave.

    A request that waits for the other member is left open until it is answered: it comes
    before other requests of that member.
    """
    group = scene(stage)
    members = {"a": "", "b": ""}
    generation = 0
    for _ in range(STEPS):
        who = random.choice(list(members))
        action, off = random.choice("jjjsssbcdl"), random.choice([0, 0, 0, -1, 1])
        own = random.random() < 0.9
        if not stage.waits(who):
            member, number = members[who] if own else "x", generation + off
            match action:
                case "j":
                    group.send_join(who, member, version=3)
                case "s":
                    parts = {name: b"part" for name in members.values() if name}
                    group.send_sync(who, member, number, parts=parts)
                case "b":
                    group.beat(member, number)
                case "c":
                    group.commit(member, number)
                case "d":
                    group.state()
                case "l":
                    group.leave((member, None))
        for name, body in stage.settle(group.group).items():
            if getattr(body, "member_id", "") and not body.error_code:
                members[name], generation = body.member_id, body.generation_id


def random_producers(random: Random, stage: Stage) -> None:
    """Batches of three idempotent producers and of none, in order, again and out of it."""
    topic = stage.topic(2)
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    for _ in range(STEPS):
        partition, number = random.randrange(2), random.choice([-1, 7, 7, 8, 9])
        epoch, sequence = expected.get((partition, number), (random.randrange(3), 0))
        epoch = max(0, epoch + random.choice([0] * 8 + [-1, 1]))
        off = random.choice([0] * 8 + [-1, -2, -5, -6, 1, -sequence])
        sequence, count = max(0, sequence + off), random.randint(1, 3)
        writer = Producer(number, epoch, sequence) if number >= 0 else NO_PRODUCER
        codec = random.choice([Compression.NONE, Compression.NONE, Compression.LZ4])
        data = batch(*[b"x"] * count, producer=writer, codec=codec)
        if random.random() < 0.1:
            data = random.choice([b"", data[:-1], data[:-1] + b"?", data + data])
        rows = [(partition, data)]
        if random.random() < 0.2:
            rows.append((random.choice([1 - partition, 5]), batch(b"y")))
        told = produce(stage, topic, *rows, acks=random.choice([-1, 1, 1, 4]))
        if random.random() < 0.1:
            stage.side.delete_records(topic.name, partition, -1)
        for row in (row for each in told.responses for row in each.partition_responses):
            if row.index == partition and not row.error_code and number >= 0:
                expected[partition, number] = (epoch, sequence + count)


def random_transactions(random: Random, stage: Stage) -> None:
    """Two transactional ids, one of them with a second instance: all that a producer may ask.

    Each names its own numbers or, now and then, those of a while ago or ahead. A transaction
    that is being ended is waited for: how long that takes is chance.
    """
    topic, group = stage.topic(2), stage.name
    newest = stage.speaks("EndTxn", 5)
    kinds = [newest and random.random() < 0.7 for _ in range(2)]
    producers = [
        RandomProducer(random, Transactor(stage, name, grows=kinds[at], who=f"t{at}"))
        for at, name in enumerate("ab")
    ]
    producers.append(RandomProducer(random, producers[0].transactor.another("t2")))
    for each in producers[:2]:
        each.init()
    for _ in range(STEPS):
        each = random.choice([*producers, *producers[:2]])
        match random.choice("wwwwwwaaoooeeeeiifldgp"):
            case "w":
                each.write(topic, random.randrange(2))
            case "a":
                each.add(topic, random.randrange(2))
            case "o":
                each.commit_offsets(group, topic)
            case "e":
                each.end()
            case "i":
                each.init()
            case "f":
                offset = random.choice([0, 0, 1, 3])
                read_both(stage, topic, offset, random.randrange(2))
            case "l":
                describe_producers(stage, topic, 0, 1)
            case "d":
                each.transactor.describe()
            case "g":
                offsets(stage, group, (topic, (0, 1)), require_stable=random.random() < 0.5)
            case "p":
                stage.produce(topic, b"plain", partition=random.randrange(2))
    for partition in range(2):
        read_both(stage, topic, partition=partition)


class RandomProducer:
    """One of them, and what it remembers.

    Args:
        random: What is drawn from.
        transactor: The producer by hand.
    """

    def __init__(self, random: Random, transactor: Transactor) -> None:
        self._random = random
        self.transactor: Transactor = transactor
        self._former = transactor.numbers
        self._sequences: dict[int, int] = {}

    def _numbers(self) -> Numbers:
        """Its own numbers, nearly always."""
        # An epoch ahead is not asked of Kafka 3.9, whose leaders take it.
        ahead = self.transactor.numbers.ahead(1 if self.transactor.grows else 0)
        own = [self.transactor.numbers] * 12
        return self._random.choice([*own, self._former, self._former, ahead])

    def _took(self, before: Numbers) -> None:
        if self.transactor.numbers != before:
            self._former, self._sequences = before, {}

    def init(self) -> None:
        """Ask for an epoch, with numbers or without."""
        before = self.transactor.numbers
        if self._random.random() < 0.5:
            self.transactor.init()
        else:
            self.transactor.init(self._numbers())
        self.transactor.settle()
        self._took(before)

    def add(self, topic: Topic, partition: int) -> None:
        """Add a partition."""
        self.transactor.add(topic, partition, numbers=self._numbers())

    def write(self, topic: Topic, partition: int) -> None:
        """Write a batch, in sequence nearly always."""
        sequence = self._sequences.get(partition, 0)
        sequence = max(0, sequence + self._random.choice([0] * 9 + [-1, 1]))
        count, numbers = self._random.randint(1, 2), self._numbers()
        told = self.transactor.write(topic, partition, sequence, count, numbers=numbers)
        row = told.responses[0].partition_responses[0]
        if not row.error_code and numbers == self.transactor.numbers:
            self._sequences[partition] = sequence + count

    def commit_offsets(self, group: str, topic: Topic) -> None:
        """Commit offsets, the group added before or not."""
        numbers = self._numbers()
        if self._random.random() < 0.5:
            self.transactor.add_offsets(group, numbers)
        row = (self._random.randrange(3), self._random.randrange(9))
        self.transactor.commit_offsets(group, position(topic, row), numbers=numbers)

    def end(self) -> None:
        """Commit or abort."""
        before = self.transactor.numbers
        self.transactor.end(commit=self._random.random() < 0.6, numbers=self._numbers())
        self._took(before)


GRAMMARS: Final = [
    random_reads,
    random_members,
    random_commits,
    random_classic,
    random_producers,
    random_transactions,
]


def sequence(seed: int, version: str) -> Scenario:
    """The scenario of a seed."""
    usable = [each for each in GRAMMARS if version != "3.9.2" or each is not random_members]
    grammar = usable[seed % len(usable)]

    def play(stage: Stage) -> None:
        grammar(Random(seed), stage)  # noqa: S311 - the same for both sides

    play.__name__ = f"{grammar.__name__}_{seed}"
    return play


def vintage_of(seed: int) -> int:
    """Which versions a seed is played in: the newest half of the time."""
    return Random(-seed - 1).choice([0, 0, 0, 1, 2, 5])  # noqa: S311


def left_of(pair: Pair, version: str, seed: int) -> list[Difference]:
    """Play the sequence of a seed; the differences that are not accepted."""
    scenario = sequence(seed, version)
    grammar = scenario.__name__.rpartition("_")[0]
    return [
        one
        for one in pair.play(scenario, vintage_of(seed))
        if not any(each.covers(one, version, grammar) for each in ACCEPTED)
    ]
