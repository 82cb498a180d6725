"""Fault rules of a test, matched against requests.

A rule counts when a broker takes up a request, not when the bytes arrive; a counted one is used
up by the requests it hit. An undone rule keeps its former effects, except for `HOLD`: its
requests go on.

Thread: the one that drives the model.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from enum import Enum

from prokurist.lazy_dataclasses import dataclass
from prokurist.testing.cluster.apis import Api


class RuleKind(Enum):
    """Effects of a rule on a request."""

    DELAY = "delay"
    """The broker works on the request later; requests behind it wait."""
    HOLD = "hold"
    """The broker works on the request when the rule is undone."""
    LATE = "answer late"
    """The effect is there at once, the answer later."""
    DROP = "drop"
    """The answer never comes, nor any that stands behind it on its connection."""
    CUT = "cut"
    """The connection ends where the answer would have been."""
    FAIL = "fail"
    """The handler refuses with an error code."""
    WRONG_ID = "wrong correlation id"
    """The answer has a correlation id that was not asked under."""
    GARBAGE = "garbage"
    """Other bytes stand where the answer would have been."""
    THROTTLE = "throttle"
    """The answer asks for quiet, and the broker does not listen that long."""


@dataclass(eq=False, slots=True, repr=False)
class Rule:
    """One rule.

    Attributes:
        kind: Its effect.
        api: The API; None for each.
        node: The broker; None for each.
        left: How many requests it is still good for; None until it is undone.
        seconds: For DELAY, LATE and THROTTLE.
        code: For FAIL.
        topic: FAIL: only parts about this topic.
        partition: FAIL: only parts about this partition.
        whole: FAIL: refuse the request as a whole; None for the usual way.
        message: FAIL: the text beside the code, where an answer has room for it.
        records: FAIL: the records of a batch that it is about, each with a text.
        data: For GARBAGE: the bytes.
        framed: For GARBAGE: True to send a right length before them.
        applied: For DROP, CUT and FAIL: True if the request takes effect before.
        reset: For CUT: a reset, and not an orderly end.
        used: How many requests it hit.
        live: True while it is in force.
    """

    kind: RuleKind
    api: Api | None = None
    node: int | None = None
    left: int | None = None
    seconds: float = 0.0
    code: int = 0
    topic: str | None = None
    partition: int | None = None
    whole: bool | None = None
    message: str | None = None
    records: Mapping[int, str] = field(default_factory=dict)
    data: bytes = b""
    framed: bool = True
    applied: bool = False
    reset: bool = False
    used: int = 0
    live: bool = True

    def __repr__(self) -> str:
        what = self.api.name if self.api else "any API"
        where = "anywhere" if self.node is None else f"on {self.node}"
        left = "" if self.left is None else f", {self.left} left"
        return f"Rule({self.kind.value}, {what} {where}, used {self.used}{left})"

    def fits(self, api: Api | None, node: int) -> bool:
        """True if the rule is in force for a request."""
        return (
            self.live
            and self.left != 0
            and self.api in (None, api)
            and self.node in (None, node)
        )

    def use(self) -> None:
        """Count a request that was hit."""
        self.used += 1
        if self.left is not None:
            self.left -= 1


@dataclass(slots=True, repr=False)
class Fate:
    """Rules that apply to one request, fixed when the broker takes it up."""

    rules: dict[RuleKind, Rule] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Fate({', '.join(each.value for each in self.rules) or 'nothing'})"

    def get(self, kind: RuleKind, *, applied: bool | None = None) -> Rule | None:
        """The rule of a kind, and of a variant of it, that hit the request."""
        if not self.rules:  # As nearly always, and hashing a kind is not for nothing.
            return None
        rule = self.rules.get(kind)
        return rule if rule and applied in (None, rule.applied) else None


class RuleBook:
    """All rules, in the order they were made; of one kind the oldest goes first."""

    __slots__ = ("_rules",)

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def __repr__(self) -> str:
        return f"RuleBook({len(self._rules)} rules)"

    def add(self, rule: Rule) -> Rule:
        """Put a rule into force."""
        self._rules = [each for each in self._rules if each.live and each.left != 0]
        self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Undo all rules."""
        for rule in self._rules:
            rule.live = False
        self._rules = []

    def fate(self, api: Api | None, node: int) -> Fate:
        """Return the fate of a request and count it against its rules; FAIL counts refusals."""
        fate = Fate()
        for rule in self._rules:
            if (
                rule.kind not in fate.rules
                and rule.kind is not RuleKind.FAIL
                and rule.fits(api, node)
            ):
                rule.use()
                fate.rules[rule.kind] = rule
        return fate

    @property
    def is_empty(self) -> bool:
        """True if there are no rules."""
        return not self._rules

    def failures(self, api: Api, node: int) -> Iterator[Rule]:
        """The rules in force that refuse something in a request."""
        return (
            each for each in self._rules if each.kind is RuleKind.FAIL and each.fits(api, node)
        )


class Refusals:
    """FAIL rules that apply to one request.

    A handler asks for the whole and for each partition it is about to answer. A
    rule is used up once by a request, in however many partitions it strikes.
    """

    __slots__ = ("_api", "_book", "_node", "_struck")

    def __init__(self, book: RuleBook, api: Api, node: int) -> None:
        self._book = book
        self._api = api
        self._node = node
        self._struck: list[Rule] = []

    def __repr__(self) -> str:
        return f"Refusals({self._api.name} on {self._node}, {len(self._struck)} struck)"

    def whole(self, *, usual: bool = True, codes: frozenset[int] = frozenset()) -> int:
        """The code to refuse the whole request with; 0 for none.

        Args:
            usual: True if this API refuses as a whole by default.
            codes: Codes that refuse as a whole all the same.
        """
        for rule in self._in_force():
            if rule.topic is None and rule.partition is None:
                natural = usual or rule.code in codes
                if natural if rule.whole is None else rule.whole:
                    return self._strike(rule)
        return 0

    def part(self, topic: str | None = None, partition: int | None = None) -> int:
        """The code to refuse a topic or partition with; 0 for none."""
        if self._book.is_empty and not self._struck:
            return 0
        rule = self.rule_for(topic, partition)
        return rule.code if rule else 0

    def rule_for(self, topic: str | None = None, partition: int | None = None) -> Rule | None:
        """The rule that refuses a topic or partition, for more than its code."""
        for rule in self._in_force():
            if (
                not rule.whole
                and rule.topic in (None, topic)
                and rule.partition in (None, partition)
            ):
                self._strike(rule)
                return rule
        return None

    def _in_force(self) -> list[Rule]:
        fresh = list(self._book.failures(self._api, self._node))
        return self._struck + [each for each in fresh if each not in self._struck]

    def _strike(self, rule: Rule) -> int:
        if rule not in self._struck:
            rule.use()
            self._struck.append(rule)
        return rule.code
