"""How good a ranking is, and what that earns: trec_eval's measures, and the tier tables of published systems.

>>> from toolenvs.rewards import retrieval
>>> round(retrieval.ndcg(["b", "a"], {"a": 1}, k=10), 3)
0.631
>>> retrieval.tier(0.55, retrieval.RECALL_TIERS)
4.0
"""

from toolenvs.rewards.retrieval.measures import first_hit, mean_reciprocal_rank, ndcg, recall
from toolenvs.rewards.retrieval.tiers import RANK_TIERS, RECALL_TIERS, Tiers, tier

__all__ = ["RANK_TIERS", "RECALL_TIERS", "Tiers", "first_hit", "mean_reciprocal_rank", "ndcg", "recall", "tier"]
