"""A cache by bytes keeps what was used last, and never more than it may."""

from __future__ import annotations

import random

import pytest

from mars.runtime.byte_lru import ByteLru


@pytest.fixture
def cache() -> ByteLru[str, bytes]:
    """One of ten bytes that holds 'a' and 'b', of four bytes each."""
    made: ByteLru[str, bytes] = ByteLru(10, len)
    for key in "ab":
        made.put(key, key.encode() * 4)
    return made


def test_what_was_used_longest_ago_goes_first(cache):
    assert cache.get("a") == b"aaaa"
    cache.put("c", b"cccc")
    assert (list(cache), cache.get("b")) == (["a", "c"], None)


def test_a_look_is_no_use(cache):
    assert cache.peek("a") == b"aaaa"
    cache.put("c", b"cccc")
    assert (list(cache), cache.peek("a")) == (["b", "c"], None)


def test_a_key_has_one_value(cache):
    cache.put("a", b"a" * 6)
    assert list(cache) == ["b", "a"]
    cache.put("a", b"a")
    cache.put("c", b"c" * 5)
    assert list(cache) == ["b", "a", "c"]


def test_what_is_larger_than_all_together_is_not_kept(cache):
    cache.put("c", b"c" * 11)
    assert list(cache) == []
    cache.put("d", b"d" * 10)
    assert list(cache) == ["d"]


def test_what_was_let_go_leaves_its_room(cache):
    assert cache.pop("a") == b"aaaa"
    assert cache.pop("a") is None
    cache.put("c", b"c" * 6)
    assert list(cache) == ["b", "c"]


def test_it_never_holds_more_than_it_may():
    random_, cache = random.Random(1), ByteLru(1_000, len)
    held: dict[int, bytes] = {}
    for _ in range(3_000):
        key, value = random_.randrange(30), bytes(random_.randrange(1, 200))
        if random_.random() < 0.7:
            cache.put(key, value)
            held[key] = value
        else:
            found = cache.get(key)
            assert found is None or found == held[key]
        assert sum(len(cache.peek(key)) for key in cache) <= 1_000
    assert sum(len(cache.peek(key)) for key in cache) > 700, "it keeps as much as it may"
