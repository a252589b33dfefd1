# EXPECT: may lie about its own run, and about nothing that the host measures
import os
import sys

frame = sys._getframe()
while "nonce" not in frame.f_locals:
    frame = frame.f_back
nonce, wire = frame.f_locals["nonce"], frame.f_globals["wire"]
fields = len(wire.ANSWER.unpack(bytes(wire.ANSWER.size)))
lengths = [6] + [0] * (fields - 5)  # of the value, and of what follows it
print("printed", flush=True)
os.write(3, wire.ANSWER.pack(wire.ANSWER_MAGIC, nonce, wire.OK, wire.HAS_VALUE, *lengths) + b"FORGED")
while True:
    pass
