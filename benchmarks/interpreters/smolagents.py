"""smolagents' LocalPythonExecutor, with NumPy and SymPy among what programs may import; see worker.py."""

from importlib.metadata import version
from typing import Any

from smolagents.local_python_executor import BASE_PYTHON_TOOLS, ExecutionTimeoutError, LocalPythonExecutor

VERSIONS = {"smolagents": version("smolagents")}


class Backend:
    def __init__(self, variant: str) -> None:
        pass

    def session(self) -> "Session":
        return Session()

    def close(self) -> None:
        pass


class Session:
    def __init__(self) -> None:
        self._executor: Any = LocalPythonExecutor(["numpy", "numpy.*", "sympy", "sympy.*"])
        self._executor.send_tools(dict(BASE_PYTHON_TOOLS))

    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        self._executor.timeout_seconds = timeout_s
        try:
            answer = self._executor(code)
        except ExecutionTimeoutError as error:
            return "timeout", str(error)
        except Exception as error:
            return "error", f"{self._executor.state.get('_print_outputs', '')}{type(error).__name__}: {error}"
        return "ok", f"{answer.logs}{answer.output}"

    def close(self) -> None:
        pass
