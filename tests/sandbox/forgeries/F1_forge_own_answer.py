# EXPECT: may lie about its own run, and about nothing that the host measures
import os
import struct
import sys

frame, nonce = sys._getframe(), None
while frame is not None:
    nonce = frame.f_locals.get("nonce", nonce)
    frame = frame.f_back
print("printed", flush=True)
os.write(3, struct.pack("<IQBBII", 0x54454E41, nonce, 0, 2, 6, 0) + b"FORGED")
while True:
    pass
