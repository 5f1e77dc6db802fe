"""The behavioural suite of the store port.

An adapter's tests subclass `StoreSuite`, give a fixture `stage`, and say in `features` what the adapter can do beyond
the least; they are then tested on exactly that.
"""

from tminus.testing.store_suite.claims import ClaimSuite, HoldSuite, LeaseSuite
from tminus.testing.store_suite.cohort import BatchSuite, MemberSuite, PublishSuite
from tminus.testing.store_suite.counters import CounterSuite
from tminus.testing.store_suite.opening import CursorSuite, OpeningSuite
from tminus.testing.store_suite.results import PayloadSuite, ResultSuite
from tminus.testing.store_suite.rounds import RoundSuite
from tminus.testing.store_suite.stage import Feature, StoreStage
from tminus.testing.store_suite.turns import HandoverSuite, LimitSuite, TurnSuite, WindowSuite

__all__ = ["Feature", "StoreStage", "StoreSuite"]


class StoreSuite(
    RoundSuite,
    ResultSuite,
    PayloadSuite,
    ClaimSuite,
    HoldSuite,
    LeaseSuite,
    WindowSuite,
    TurnSuite,
    HandoverSuite,
    LimitSuite,
    OpeningSuite,
    CursorSuite,
    BatchSuite,
    MemberSuite,
    PublishSuite,
    CounterSuite,
):
    """All parts of the suite."""
