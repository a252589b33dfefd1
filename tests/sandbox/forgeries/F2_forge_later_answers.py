# EXPECT: may lie about later runs of its own session, not of another
import sys

frame = sys._getframe()
while not hasattr(frame.f_locals.get("self"), "serve"):
    frame = frame.f_back
worker = frame.f_locals["self"]
honest = worker._run
def lie(code, *rest):
    return (0, False, "FORGED", None, *honest("pass", *rest)[4:])
worker._run = lie
#--- next cell
6 * 7
#--- new session
6 * 7
