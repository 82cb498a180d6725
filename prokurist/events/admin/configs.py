"""Work on configurations.

Thread: any; frozen values.
"""

from collections.abc import Mapping
from dataclasses import field

from prokurist.events.admin.work import ONE
from prokurist.lazy_dataclasses import dataclass
from prokurist.types.configs import ConfigChange, ConfigResource, ResourceKind


@dataclass(frozen=True, slots=True)
class ConfigsToDescribe:
    """Describe configurations.

    Attributes:
        items: The resources, and the keys of each; None for all keys.
        synonyms: True to ask for the origins of each value.
        documentation: True to ask for the documentation of each key.
    """

    items: Mapping[ConfigResource, tuple[str, ...] | None]
    synonyms: bool = False
    documentation: bool = False


@dataclass(frozen=True, slots=True)
class ConfigsToAlter:
    """Alter single keys of configurations.

    Attributes:
        items: The resources, and the changes of each by key.
        validate_only: True to check the request, and alter nothing.
    """

    items: Mapping[ConfigResource, Mapping[str, ConfigChange]]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class ConfigResourcesToList:
    """List the resources that have a configuration of their own, or could have one.

    Attributes:
        kinds: Their kinds; empty for all.
    """

    items: Mapping[str, None] = field(default_factory=lambda: ONE)
    kinds: tuple[ResourceKind, ...] = ()
