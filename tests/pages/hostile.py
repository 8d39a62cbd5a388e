"""A model in which every word is an attempt at markup."""

from __future__ import annotations

MARKUP = "</script><script>window.hacked=1</script><img/src=x/onerror=window.hacked=1>&amp;"
VALUE = MARKUP + "\u2028<!--<script>"
HOSTILE = f'''\
from isrcheck.model.language import Model, action, enum, invariant, setting

VALUE = {VALUE!r}


class Hostile(Model):
    """A model of {MARKUP}."""

    word = setting(VALUE, choices=(VALUE, "x"), meaning="means {MARKUP}")

    def variables(self):
        return {{"value": enum("nothing", VALUE)}}

    @action(actor="hand")
    def act(self, s):
        """Acts {MARKUP}."""
        s.require(s.value == "nothing")
        s.value = VALUE

    def describe_act(self, old, new):
        return "it becomes " + new.value

    @invariant
    def is_nothing(self, s):
        """The value is never {MARKUP}."""
        return s.value == "nothing"
'''
