"""A rollout engine behind HTTP: tokens in, tokens out, and weights taken over between steps.

python -m toolenvs.serve.engine --model runs/tiny/sft/model --engine vllm --port 8200
"""

from toolenvs.serve.engine.app import build as build
