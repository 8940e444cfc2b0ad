"""What the symbol service does beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tierline.session.retrieval.symbols import ModuleMap, SymbolService


class Service:
    """As much of the service as ``_fetch`` touches where there is no room for a map."""

    map = ModuleMap()
    _map_for: Any = None

    def wanted(self) -> tuple[int, int, bool]:
        self.thread = threading.current_thread()
        return 0, 0, False


def test_the_vocabulary_is_not_loaded_on_the_loop() -> None:
    """``wanted`` counts the tools' tokens, for which 2 MB are read the first time."""
    service: Any = Service()
    asyncio.run(SymbolService._fetch(service))
    assert service._map_for == (0, 0, False)
    assert service.thread is not threading.current_thread()
