"""The frames between the host, the fork server and a cell: fixed headers, capped lengths, UTF-8, nothing else.

host -> fork server   ORDER, one datagram; SPAWN carries the cell's control, stdout, stderr, ADMIT the copy's hello,
                      and both what puts the process into its control groups
fork server -> host   REPORT, one datagram; READY and FAILED are followed by text
host -> cell          REQUEST, the program, its standard input, a block of files (see `outputs`)
cell -> host          one HELLO byte when its walls stand; then for each request ANSWER, value, error, and what of
                      stdout and stderr did not go through their channels before, and a block of files (see `outputs`)
"""

import struct

SPAWN, SPAWN_FORKABLE, KILL, REAP, INTERRUPT, ADMIT = 1, 2, 3, 4, 5, 6
READY, FAILED, EXIT = 1, 2, 3
ORDER = struct.Struct("<BQQ")  # what, cell, for ADMIT: the cell to copy, for SPAWN: its user or 0
REPORT = struct.Struct("<BQi")  # what, cell, wait status or CUT_OFF
CUT_OFF = -1  # it had let go of its control channel and was killed for that
MAX_REPORT_BYTES = 65_536

HELLO = b"+"
RUN, BRANCH = 1, 2
FINAL, SEED = 1, 2  # flags of a request: the cell ends after it; reseed before it
REQUEST = struct.Struct("<IBBQQdIII")
"""Magic, operation, flags, nonce, seed, timeout_s, bytes of program, stdin, files."""
REQUEST_MAGIC = 0x54454E31

OK, ERROR, MEMORY, REFUSED = 0, 1, 2, 3
TRUNCATED, HAS_VALUE, HAS_ERROR = 1, 2, 4  # flags of an answer
ANSWER = struct.Struct("<IQBBIIIII")  # magic, nonce, status, flags, bytes of value, error, stdout, stderr, files
ANSWER_MAGIC = 0x54454E41
MAX_ERROR_CHARS = 4_096
