"""Planted bugs of workers that are asked to end: they do not stop politely, and nobody else makes good for it."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from mapper.lease import LeaseKeeper
from mapper.shared import Shared
from mars.adapters.view import StreamView
from mars.model.claims import Claim
from reducer.holdings import Holdings
from tests.simulate.planted import bug
from tests.simulate.world import World


@bug
def who_retires_takes_claims_along(world: World) -> Iterator[None]:
    """A claim that is handed over is forgotten, as if it were done."""

    def hand_over(shared: Shared, view: StreamView, claim: Claim) -> None:
        shared.leases.drop(view.stream.id, claim)
        store = world.server.stores[view.stream.id]
        if store.claims.get(claim.id, {}).get("epoch") == claim.epoch:
            del store.claims[claim.id], store.leases[claim.id]

    with patch.object(Shared, "hand_over", hand_over):
        yield


@bug
def who_retires_holds_its_claims_for_ever(world: World) -> Iterator[None]:
    """The thread that renews claims outlives the worker, as the process may run another one."""
    with patch.object(Shared, "hand_over", lambda *_: None), patch.object(LeaseKeeper, "stop", lambda _: None):
        yield


@bug
def who_retires_trims_what_it_has_not_committed(world: World) -> Iterator[None]:
    """The last act of a reducer is to tidy up, and not to commit."""

    def commit(holdings: Holdings) -> None:
        for part in holdings.parts.values():
            part.assignment.log(part.exchange).trim(list(part.trim.undone), {})

    with patch.object(Holdings, "commit", commit):
        yield
