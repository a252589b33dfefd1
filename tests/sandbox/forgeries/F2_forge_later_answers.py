# EXPECT: may lie about later runs of its own session, not of another
import sys

frame = sys._getframe()
while not hasattr(frame.f_locals.get("self"), "serve"):
    frame = frame.f_back
frame.f_locals["self"]._run = lambda *_: (0, False, "FORGED", None)
#--- next cell
6 * 7
#--- new session
6 * 7
