"""Members one after the other or in threads: the same results in the same order, and torch's threads as before."""

import threading

import pytest
import torch

from grande_gnn.classifier.member_threads import for_each_member, in_threads


def test_one_after_the_other_is_the_default_and_stays_in_this_thread():
    seen = for_each_member(lambda item: (item, threading.get_ident()), [3, 1, 2])
    assert seen == [(item, threading.get_ident()) for item in (3, 1, 2)]


def test_several_at_a_time_meet_and_keep_their_order():
    both = threading.Barrier(2, timeout=10)  # passed only if two run at the same time

    def train(item):
        both.wait()
        return item, torch.get_num_threads()

    with in_threads(2):
        assert for_each_member(train, [4, 7]) == [(4, 1), (7, 1)]
    assert for_each_member(lambda item: threading.get_ident(), [1]) == [threading.get_ident()]


def test_a_failure_is_raised_and_the_setting_ends_with_its_block():
    def fail(item):
        raise ValueError(item)

    usual = torch.get_num_threads()
    with pytest.raises(ValueError, match="5"), in_threads(2):
        for_each_member(fail, [5])
    assert torch.get_num_threads() == usual
    assert for_each_member(lambda item: threading.get_ident(), [1]) == [threading.get_ident()]


def test_threads_that_begin_later_have_as_many_cores_as_before():
    usual, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(3)
        with in_threads(2):
            for_each_member(str, [1, 2])
        later = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        later.start()
        later.join()
        assert [*seen, torch.get_num_threads()] == [3, 3]
    finally:
        torch.set_num_threads(usual)
