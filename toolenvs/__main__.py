"""`python -m toolenvs`: the command, for what starts modules: `torchrun --nproc-per-node 8 -m toolenvs train grpo`."""

from toolenvs.cli import main

main()
