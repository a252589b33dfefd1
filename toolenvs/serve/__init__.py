"""What `toolenvs serve` starts: parts of the house behind HTTP, one package a server.

`http` reads requests and writes answers, `fields` checks what they hold, `admission` bounds the work, `sessions` keeps
what has a state between requests, `metrics` counts, `run` binds, serves and ends.
"""
