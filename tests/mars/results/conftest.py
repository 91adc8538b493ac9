"""The application over real services, as the tests of the API have it: what is read here was made by its statements."""

from tests.api.conftest import client, context, kafka, new_query

__all__ = ["client", "context", "kafka", "new_query"]
