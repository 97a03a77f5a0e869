"""A recipe that is quick to compile, for tests of the command line."""

from agents import AGENTS, ENV

from rlax_agents import Recipe

TINY = {
    ("ppo", "catch"): Recipe(AGENTS["ppo"], ENV, 8, 6, 0.5),
    ("dqn", "catch"): Recipe(AGENTS["dqn"], ENV, 8, 12, None),
}


class Stops:
    """A view that does as a user who types Ctrl-C after so many updates."""

    def __init__(self, after, send):
        self.after, self.send, self.seen = after, send, []

    def show(self, now):
        self.seen.append(now)
        if now.update == self.after:
            self.send()

    def end(self):
        pass
