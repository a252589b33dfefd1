"""Reading and comparing answers: pure functions of two strings.

Nothing here imports the rest of the package, so that the child process (`serve.py`) starts in tens of milliseconds
and holds nothing but the standard library and mpmath. Nothing here evaluates text as code.

    tidy      one spelling for each thing that LaTeX, Unicode and programmers spell in several ways
    tree      expressions as trees of numbers, symbols and operations
    parse     a small, strict subset of LaTeX and calculator notation, read into trees
    units     what follows a number: units, currencies, nouns
    shapes    what sort of answer it is: number, tuple, set, interval, equation, matrix, words, ...
    cut       cutting text outside brackets, and thousands separators
    prose     words, options, numbers in words
    notation  times of day, digits in a base
    regions   sets of reals
    read      text to shape
    budget    limits that hold before anything is read
    exact     rational arithmetic with a bound on the size of every intermediate
    numeric   many-digit floating arithmetic, for what is irrational (the child only)
    decide    whether two trees have the same value
    compare   whether two shapes are the same answer
"""
