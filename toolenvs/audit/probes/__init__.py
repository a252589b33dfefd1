"""One way to cheat a file: `FAULTS`, what to do about each finding, and `probe`, which looks for them."""
