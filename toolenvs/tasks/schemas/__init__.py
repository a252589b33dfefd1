"""One module per row schema of task files; to add one, add a file.

A schema has two functions, `matches(row) -> bool` and `to_task(row, index) -> Task`. `row` maps columns to plain
Python values; `index` is the row's position, for files without ids. `to_task` raises `TaskError` with a message that
names the key; the loader adds the file and the row. A schema whose files repeat rows sets `REPEATS = True`: rows
with the id or the content of an earlier one are then dropped.

Where the prompt is chat text that was already rendered, `Task.rendered` is set and `messages` is one user message that
holds the whole of it.

At most one schema besides `plain`, which takes what no other does, should match a row.
"""
