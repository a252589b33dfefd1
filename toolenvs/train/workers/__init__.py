"""Rollouts in other processes, on this machine or others: each worker holds an engine and the environments.

    settings.py     what a recipe says about workers
    worker.py       one worker: an engine, the environments, and the calls that it answers
    cluster.py      what is asked of whatever starts workers and reaches them
    ray_cluster.py  Ray, the one that there is
    pool.py         the trainer's side: hands out episodes and weights, and replaces workers that died

An episode's seed comes from its task and its number, and what is sampled together from the batch alone, so that which
worker rolled it out, and how many there are, changes nothing.
"""
