"""Classes that attrs completes on first use are, once used, what attrs makes of them at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from typing import Any

import attrs
import pytest

from tierline.protocol.deferred import deferred, define, is_value

DESCRIBE = """
import attrs, json, lsprotocol.types as t
def told(cls):
    fields = [
        (a.name, repr(a.type), repr(a.default), repr(a.validator), a.eq, a.init, a.kw_only)
        for a in attrs.fields(cls)
    ]
    own = [n for n in ("__eq__", "__gt__", "__lt__", "__hash__", "__repr__") if n in vars(cls)]
    return [fields, own, cls.__hash__ is None]
from lsprotocol.converters import get_converter
get_converter()
print(json.dumps({n: told(c) for n, c in t.ALL_TYPES_MAP.items()
                  if isinstance(c, type) and attrs.has(c)}, sort_keys=True))
"""


def run(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(re.sub(" at 0x[0-9a-f]+", "", done.stdout))


def test_the_types_of_lsp_are_the_same_either_way() -> None:
    load = "from tierline.protocol.deferred import load_lsprotocol; load_lsprotocol()\n"
    late, usual = run(load + DESCRIBE), run(DESCRIBE)
    assert len(usual) > 500
    assert late == usual


def test_a_server_that_has_been_built_has_completed_few() -> None:
    """What makes the answer to ``initialize`` quick; see also tests/benchmarks/initialize.py."""
    waiting, loaded = run(
        "from tierline.protocol.deferred import deferred, load_lsprotocol\nload_lsprotocol()\n"
        "import json, sys\nimport lsprotocol.types as t\nfrom tierline import protocol\n"
        "from tierline.lsp.server import build\nbuild()\n"
        "classes = {c for m in (t, protocol) for c in vars(m).values() if isinstance(c, type)}\n"
        "print(json.dumps([sum(map(deferred, classes)), "
        "'define' in vars(t) or t.attrs.define.__module__ == 'tierline.protocol.deferred']))"
    )
    assert waiting > 600
    assert not loaded, "attrs is what it was"


@pytest.fixture
def point() -> Any:
    @define
    class Point:
        x: int
        y: int = attrs.field(default=2, validator=attrs.validators.instance_of(int))
        more: list[int] = attrs.field(factory=list)

    return Point


def test_an_instance_completes_its_class(point: Any) -> None:
    assert deferred(point)
    assert is_value(point)
    assert deferred(point), "asking does not"
    one = point(1)
    assert not deferred(point)
    assert is_value(point)
    assert (one.x, one.y, one.more) == (1, 2, [])
    assert one == point(1) != point(3)
    assert repr(one).endswith("Point(x=1, y=2, more=[])")
    with pytest.raises(TypeError):
        point(1, "two")
    with pytest.raises(TypeError):
        point()
    with pytest.raises(TypeError):
        hash(one)


def test_so_does_asking_for_its_fields(point: Any) -> None:
    assert attrs.has(point)
    assert [a.name for a in attrs.fields(point)] == ["x", "y", "more"]
    assert not deferred(point)


def test_a_class_below_one_that_waits(point: Any) -> None:
    @define
    class Named(point):  # type: ignore[misc]
        name: str = ""

    assert Named(1, name="a").name == "a"
    assert not deferred(point)
    assert [a.name for a in attrs.fields(Named)] == ["x", "y", "more", "name"]

    class Plain(point):  # type: ignore[misc]
        pass

    assert Plain(5).x == 5


def test_what_is_no_value_is_none() -> None:
    assert not is_value(int)
    assert not is_value(3)


def test_many_threads_that_come_first_all_meet_a_whole_class() -> None:
    failed: list[BaseException] = []
    for _ in range(40):
        gate = threading.Barrier(6)

        @define
        class Late:
            a: int = 1
            b: str = "b"

        def use(gate: Any = gate, late: Any = Late) -> None:
            gate.wait()
            try:
                assert late(a=3) == late(3, "b")
                assert [f.name for f in attrs.fields(late)] == ["a", "b"]
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=use) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failed == []
