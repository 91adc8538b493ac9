"""The services by way of the API's context, as its tests have them."""

from tests.api.conftest import context, kafka

__all__ = ["context", "kafka"]
