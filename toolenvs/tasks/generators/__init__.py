"""One module per generator; to add one, add a file.

A generator has one function, `make(**options)`, which checks its options and returns a function from `Draws` to
`Problem`. The answer must be exact and hard to guess, and the program short.
"""
