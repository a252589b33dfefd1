"""What goes over a container's streams: it comes out as it went in, however it is cut, and garbage is garbage."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.sandbox import Result, outputs
from toolenvs.sandbox.docker import frames
from toolenvs.sandbox.docker.frames import GarbageError, Replies, Reply, Request, Requests, Streams

NUMBERS = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[first:end] for first, end in zip(edges, edges[1:], strict=False)]


@given(st.lists(st.tuples(st.integers(1, 4), NUMBERS, NUMBERS, NUMBERS, st.binary(), st.binary())), st.lists(NUMBERS))
def test_requests_come_out_as_they_went_in(rows: list, cuts: list[int]) -> None:
    requests = [Request(*row[:4], 1.5, *row[4:]) for row in rows]
    reader, found = Requests(), []
    for piece in pieces(b"".join(request.packed() for request in requests), cuts):
        found += reader.feed(piece)
    assert found == requests


@given(
    st.sampled_from(frames.STATUSES),
    TEXTS,
    TEXTS,
    st.none() | TEXTS,
    st.none() | TEXTS,
    st.booleans(),
    st.booleans(),
    st.dictionaries(st.sampled_from(["a", "b.csv", "figure-1.png", "ß x"]), st.binary(max_size=50)),
    st.none() | st.integers(-64, 255),
    st.lists(NUMBERS),
)
def test_results_come_out_as_they_went_in(status, out, err, value, error, truncated, lost, files, code, cuts) -> None:
    result = Result(status, out, err, value, error, truncated, 0.25, lost, files, code)
    reader, found = Replies(100), []
    for piece in pieces(frames.reply(7, result).packed(), cuts):
        found += reader.feed(piece)
    assert [reply.nonce for reply in found] == [7]
    assert found[0].result(100, 0.25) == result


def test_what_is_too_long_is_cut_and_says_so() -> None:
    reply = frames.reply(7, Result("ok", "é" * 30, "", "v" * 10))
    result = reply.result(10, 0.0)
    assert (result.stdout, result.value, result.truncated) == ("é" * 10, "v" * 10, True)


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_any_bytes_are_replies_or_garbage(chunks: list[bytes]) -> None:
    streams, replies = Streams(), Replies(100)
    try:
        for chunk in chunks:
            for _, piece in streams.feed(chunk):
                replies.feed(piece)
    except GarbageError:
        pass


@given(st.binary(min_size=frames.REPLY.size - 4, max_size=300))
def test_any_bytes_behind_the_right_magic_are_replies_or_garbage(data: bytes) -> None:
    replies = Replies(10)
    held = 0
    try:
        for reply in replies.feed(frames.REPLY_MAGIC + data):
            assert max(len(part) for part in reply[4:-1]) <= replies._max_bytes
            if reply.status < len(frames.STATUSES):
                assert reply.result(10, 0.0).status in frames.STATUSES
            held += frames.REPLY.size + sum(len(part) for part in reply[4:])
        assert held <= len(data) + 4
    except GarbageError:
        pass


@pytest.mark.parametrize(
    "data",
    [
        b"x" * frames.REPLY.size,
        frames.REPLY.pack(frames.REPLY_MAGIC, 1, 6, 0, 0, 0, 0, 0, 0, 0),
        frames.REPLY.pack(frames.REPLY_MAGIC, 1, 104, 0, 0, 0, 0, 0, 0, 0),
        frames.REPLY.pack(frames.REPLY_MAGIC, 1, 0, 0, 0, 2**31, 0, 0, 0, 0),
        frames.REPLY.pack(frames.REPLY_MAGIC, 1, 0, 0, 0, 0, 0, 0, 2**32 - 1, 0),
        frames.REPLY.pack(frames.REPLY_MAGIC, 1, 0, 0, 0, 0, 0, 0, 0, outputs.MAX_PACKED_BYTES + 1),
        Reply(1, 0, files=b"x").packed(),
        Reply(1, 0, files=outputs.pack({"../x": b"y"})).packed(),
    ],
)
def test_what_is_no_reply_is_garbage_as_soon_as_its_head_is_there(data: bytes) -> None:
    with pytest.raises(GarbageError):
        Replies(65_536).feed(data)


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=8), st.lists(NUMBERS))
def test_the_engines_frames_are_taken_apart(parts: list, cuts: list[int]) -> None:
    sent = b"".join(struct.pack(">BxxxI", kind, len(data)) + data for kind, data in parts)
    streams, found = Streams(), {1: b"", 2: b""}
    for piece in pieces(sent, cuts):
        for kind, data in streams.feed(piece):
            found[kind] += data
    assert found == {kind: b"".join(data for which, data in parts if which == kind) for kind in (1, 2)}


def test_other_streams_are_garbage() -> None:
    with pytest.raises(GarbageError, match="no stream 3"):
        Streams().feed(struct.pack(">BxxxI", 3, 1) + b"x")


def test_a_request_of_another_version_is_refused() -> None:
    with pytest.raises(GarbageError):
        Requests().feed(b"TEN1" + bytes(frames.REQUEST.size))


def test_bytes_that_are_no_text_are_shown_all_the_same() -> None:
    assert Reply(1, 0, stdout=b"\xff\xfe").result(10, 0.0).stdout == "\ufffd\ufffd"
