"""Metrics for Prometheus. Labels are routes as the program writes them, never stored text."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.types import Scope

from tallystick.memory.memory import Memory

TYPE = CONTENT_TYPE_PLAIN_0_0_4

_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "tallystick_requests", "Requests answered.", ("route", "method", "status"), registry=registry
        )
        self._seconds = Histogram(
            "tallystick_request_seconds", "Duration of requests, without streams.", ("route",),
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.streams = Gauge("tallystick_streams", "Open streams of changes.", registry=registry)
        self.rules = Counter("tallystick_rules_run", "Consolidation rules that ran.", registry=registry)
        self._events = Gauge("tallystick_events", "Events in the ledger.", registry=registry)
        self._beliefs = Gauge("tallystick_beliefs", "Active beliefs.", registry=registry)
        self._waiting = Gauge("tallystick_reviews_waiting", "Pending reviews.", registry=registry)
        self._writable = Gauge("tallystick_writable", "1 if the memory can be written, else 0.", registry=registry)
        ProcessCollector(registry=registry)

    def answered(self, scope: Scope, status: int, seconds: float, *, is_stream: bool = False) -> None:
        route = str(getattr(scope.get("route"), "path", "") or scope.get("state", {}).get("route", "") or "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._requests.labels(route, method, str(status)).inc()
        if not is_stream:
            self._seconds.labels(route).observe(seconds)

    def look(self, memory: Memory) -> None:
        """Read the memory's current state."""
        status = memory.status()
        self._events.set(status.events)
        self._beliefs.set(status.beliefs)
        self._waiting.set(status.waiting)
        self._writable.set(1 if status.writable and not status.trouble else 0)

    def text(self) -> bytes:
        return generate_latest(self._registry)
