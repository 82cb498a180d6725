"""The exceptions, one tree, with Kafka's names."""


class KafkaException(Exception):
    """The root of every exception that this library raises of its own."""


class ConfigException(KafkaException, ValueError):
    """A configuration value that cannot be used; the text names key, value and rule."""


class ConfigWarning(UserWarning):
    """A configuration key that is accepted but does nothing."""
