"""Topics: create, delete, list, describe, add partitions.

Thread: any application thread.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from prokurist.admin.arguments import (
    mapping_of,
    named,
    require_kind,
    require_name,
    topics_of,
)
from prokurist.admin.calls import AdminCalls
from prokurist.admin.results import Results
from prokurist.application.driving import Steps
from prokurist.events.admin.topics import (
    PartitionsToCreate,
    TopicPageToDescribe,
    TopicsToCreate,
    TopicsToDelete,
    TopicsToDescribe,
    TopicsToList,
)
from prokurist.types import PartitionInfo, TopicPartition, require_int
from prokurist.types.topics import (
    CreatedPartitions,
    CreatedTopic,
    DeletedTopic,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicListing,
)


class Topics(AdminCalls):
    """Calls of `KafkaAdmin` about topics."""

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication_factor: int | None = None,
        *,
        configs: Mapping[str, str | None] | None = None,
        replicas: Mapping[int, Sequence[int]] | None = None,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> CreatedTopic:
        """Create a topic.

        Args:
            name: Its name.
            partitions: The number of partitions; None for the brokers' `num.partitions`.
            replication_factor: Copies of each partition; None for the brokers'
                `default.replication.factor`.
            configs: Configuration keys and their values.
            replicas: The brokers of each partition, instead of the two numbers.
            validate_only: True to check the request, and create nothing.
            wait: True to wait until all live brokers know it, with leaders.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            KafkaException: The controller refuses it, as with TopicExistsException.
            TimeoutException: The time is over; `may_have_happened` says whether the controller
                may have created it.
        """
        new = NewTopic(partitions, replication_factor, configs or {}, replicas or {})
        require_name("topics", name)
        work = TopicsToCreate({name: new}, validate_only, wait)
        created: CreatedTopic = self._one("create_topic", work, timeout)
        return created

    def create_topics(
        self,
        topics: Mapping[str, NewTopic],
        *,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, CreatedTopic]:
        """Create topics, each by itself: one that fails ends no other.

        A request without an answer is repeated. Where the repetition finds a topic of the name,
        that is compared with the request: if it fits, it is the one of the first attempt.

        Args:
            topics: The topics by name.
            validate_only: True to check the request, and create nothing.
            wait: True to wait until all live brokers know them, with leaders; where that takes
                longer than the call has time, `visible` is False.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        example = '{"orders": NewTopic(partitions=6)}'
        for name, new in mapping_of("topics", topics, example=example).items():
            require_name("topics", name)
            require_kind(f"topic {name}", new, NewTopic)
        work = TopicsToCreate(dict(topics), validate_only, wait)
        return self._results("create_topics", work, timeout)

    def delete_topic(
        self,
        topic: str | UUID,
        *,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> DeletedTopic:
        """Delete a topic; see `delete_topics`.

        Args:
            topic: Its name, or its id.
            wait: True to wait until no live broker knows it.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            KafkaException: The controller refuses it.
            TimeoutException: The time is over; `may_have_happened` says whether the controller
                may have deleted it.
            UnknownTopicOrPartitionException: There is no such topic.
        """
        work = TopicsToDelete(topics_of([topic], example='["orders"]'), wait)
        deleted: DeletedTopic = self._one("delete_topic", work, timeout)
        return deleted

    def delete_topics(
        self,
        topics: Iterable[str | UUID],
        *,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str | UUID, DeletedTopic]:
        """Delete topics, by name or by id, each by itself.

        The id of a name is looked up, and the topic is deleted by its id where brokers know
        that (2.8 and newer): a repetition of the request cannot delete a topic of the same name
        that was created again meanwhile.

        Args:
            topics: Names and ids.
            wait: True to wait until no live broker knows them.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        work = TopicsToDelete(topics_of(topics, example='["orders"]'), wait)
        return self._results("delete_topics", work, timeout)

    def create_partitions(
        self,
        totals: Mapping[str, int | NewPartitions],
        *,
        validate_only: bool = False,
        wait: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str, CreatedPartitions]:
        """Add partitions to topics.

        Records with a key go to other partitions from then on.

        Args:
            totals: The number of partitions that each topic is to have, those that there are
                included; or a NewPartitions, which names brokers.
            validate_only: True to check the request, and create nothing.
            wait: True to wait until all live brokers know them, with leaders.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The outcome of each; `check()` raises if any has failed.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        items: dict[str, NewPartitions] = {}
        for name, total in mapping_of("totals", totals, example='{"orders": 12}').items():
            require_name("topics", name)
            items[name] = total if isinstance(total, NewPartitions) else NewPartitions(total)
        work = PartitionsToCreate(items, validate_only, wait)
        return self._results("create_partitions", work, timeout)

    def list_topics(
        self, *, internal: bool = False, timeout: float | timedelta | None = None
    ) -> dict[str, TopicListing]:
        """List all topics that this user may describe, by name.

        Args:
            internal: True to list Kafka's internal topics as well.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: The time is over.
        """
        found: dict[str, TopicListing] = self._one(
            "list_topics", TopicsToList(internal=internal), timeout
        )
        return found

    def describe_topics(
        self,
        topics: Iterable[str | UUID],
        *,
        operations: bool = False,
        timeout: float | timedelta | None = None,
    ) -> Results[str | UUID, TopicDescription]:
        """Describe topics and their partitions, by name or by id.

        Args:
            topics: Names and ids.
            operations: True to ask for the operations that this user is authorized to.
            timeout: Seconds; None for `default.api.timeout.ms`.

        Returns:
            The description of each, or its error, as UnknownTopicOrPartitionException.

        Raises:
            KafkaException: Nothing could be asked, as with wrong credentials.
        """
        work = TopicsToDescribe(topics_of(topics, example='["orders"]'), operations)
        return self._results("describe_topics", work, timeout)

    def iter_topic_partitions(
        self,
        topics: Iterable[str] | None = None,
        *,
        page: int = 2000,
        timeout: float | timedelta | None = None,
    ) -> Iterator[PartitionInfo]:
        """Iterate over the partitions of many topics, by name and number, page by page.

        A topic that is created or deleted meanwhile neither repeats nor hides another one.
        Topics that do not exist are left out.

        Args:
            topics: The names; None for all topics that this user may describe.
            page: Partitions of one request.
            timeout: Seconds for each page; None for `default.api.timeout.ms`.

        Raises:
            TimeoutException: A page did not come in time.
            UnsupportedVersionException: The brokers have no pages (before Kafka 3.8): use
                `describe_topics`.
        """
        return self._each_of(pages_of(topics, page), timeout)

    def _each_of(
        self, pages: "TopicPages", timeout: float | timedelta | None
    ) -> Iterator[PartitionInfo]:
        while not pages.are_over:
            for topic in self._run(self._next_page(pages, timeout)):
                yield from topic.partitions

    def _next_page(
        self, pages: "TopicPages", timeout: float | timedelta | None
    ) -> Steps[Sequence[TopicDescription]]:
        operation = "iter_topic_partitions"
        if pages.names is None:
            every = yield from self._ask_one(operation, TopicsToList(internal=True), timeout)
            pages.names = tuple(sorted(every))
            if not every:
                return ()
        work = TopicPageToDescribe(pages.names, pages.size, pages.cursor)
        found, cursor = yield from self._ask_one(operation, work, timeout)
        pages.go_on(cursor)
        topics: Sequence[TopicDescription] = found
        return topics


class TopicPages:
    """Place in a list of topics that is read page by page.

    Args:
        topics: Their names; None for all.
        size: Partitions of a page.

    Attributes:
        names: Those that are left; None while they are not known.
        cursor: Where the next page begins; None for the beginning.
        size: See above.
    """

    def __init__(self, topics: Iterable[str] | None, size: int) -> None:
        self.names = None if topics is None else tuple(sorted(topics))
        self.cursor: TopicPartition | None = None
        self.size: int = size

    @property
    def are_over(self) -> bool:
        """True when no page is left."""
        return self.names is not None and not self.names

    def go_on(self, cursor: TopicPartition | None) -> None:
        """Note where the next page begins; None behind the last one."""
        self.cursor = cursor
        # Without those that are done: the broker begins at the cursor's topic, and where
        # that is deleted meanwhile, at the next one.
        self.names = (
            ()
            if cursor is None
            else tuple(each for each in self.names or () if each >= cursor.topic)
        )

    def __repr__(self) -> str:
        return f"TopicPages(at {self.cursor})"


def pages_of(topics: Iterable[str] | None, size: int) -> TopicPages:
    """Check the arguments of `iter_topic_partitions`."""
    require_int("page", size, 31)
    if not size:
        raise ValueError("page is at least 1: 0")
    found = None if topics is None else named("topics", topics, example='["orders"]')
    return TopicPages(found, size)
