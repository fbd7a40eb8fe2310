"""Jobs for worker processes, which import this module and need not import pytest."""

import os
import time

from hark.errors import UserError


class Square:
    def __init__(self, poison=None):
        self.poison = poison

    def __call__(self, job):
        if job == self.poison:
            raise UserError("poison.txt:7: bad")
        if job == "die":
            os._exit(9)
        if job == "sleep":
            time.sleep(60)
        return job * job


def broken():
    raise UserError("cannot be built")
