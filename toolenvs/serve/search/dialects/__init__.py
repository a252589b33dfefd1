"""One file for each way of asking over HTTP: `read` says what a request asks, `write` answers as its clients expect.

What is said of others' shapes was read in their public repositories: github.com/PeterGriffinJin/Search-R1,
NovaSky-AI/SkyRL, axon-rl/gem, RUCAIBox/R1-Searcher and inclusionAI/ASearcher.
"""
