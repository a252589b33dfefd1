"""Cold-start data: text solutions become transcripts that call the interpreter, and every one is checked by running it.

The stages are those of ReTool (Feng et al. 2025, section 3.2) and one more: `sources` are rewritten or parsed into
recordings (`rewrite`), a recording's form is checked (`format`), and it is replayed in the real environment
(`replay`), since a rewriter writes the interpreter's outputs itself.

    report = build(blueprint, from_tasks(blueprint.tasks), Rules())
    write_rows("rows.jsonl", report.rows)
    tokens = to_tokens(report.rows[0], codec)
"""

from toolenvs.coldstart.build import Outcome, abuild, build
from toolenvs.coldstart.files import read_rows, write_rows
from toolenvs.coldstart.recording import Recording, Step
from toolenvs.coldstart.rejection import Reason, Rejection
from toolenvs.coldstart.report import Failure, Rejected, Report
from toolenvs.coldstart.rewrite.base import Rewriter
from toolenvs.coldstart.rewrite.model import Model
from toolenvs.coldstart.rewrite.program import Program
from toolenvs.coldstart.rewrite.recorded import Recorded
from toolenvs.coldstart.rewrite.rules import Rules
from toolenvs.coldstart.row import ColdStartRow, Provenance
from toolenvs.coldstart.source import Source, from_recordings, from_tasks
from toolenvs.coldstart.tokens import to_tokens

__all__ = [
    "ColdStartRow",
    "Failure",
    "Model",
    "Outcome",
    "Program",
    "Provenance",
    "Reason",
    "Recorded",
    "Recording",
    "Rejected",
    "Rejection",
    "Report",
    "Rewriter",
    "Rules",
    "Source",
    "Step",
    "abuild",
    "build",
    "from_recordings",
    "from_tasks",
    "read_rows",
    "to_tokens",
    "write_rows",
]
