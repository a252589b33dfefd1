"""Try to cheat an environment: what a policy in training would find, found first.

Each probe is one file of `toolenvs.audit.probes`, and there is no list of them.
"""

from toolenvs.audit.again import Other
from toolenvs.audit.finding import Finding, Report
from toolenvs.audit.run import audit, probes

__all__ = ["Finding", "Other", "Report", "audit", "probes"]
