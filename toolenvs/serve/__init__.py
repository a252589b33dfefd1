"""What `toolenvs serve` starts: parts of the house behind HTTP, one package a server.

`http` reads requests and writes answers, `fields` checks what they hold, `admission` bounds the work,
`metrics` counts it, `run` binds, serves and ends.
"""
