"""aiokafka's configuration resources."""

from prokurist.compat.aiokafka.admin.values import ConfigResource, ConfigResourceType

__all__ = ["ConfigResource", "ConfigResourceType"]
