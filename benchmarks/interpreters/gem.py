"""GEM's tool; see worker.py. It has no state; the time limit that it takes is not the one that it applies (10 s)."""

from importlib.metadata import version

from gem.tools.python_code_tool import PythonCodeTool

VERSIONS = {"gem-llm": version("gem-llm")}


class Backend:
    def __init__(self, variant: str) -> None:
        self._hides = variant == "hidden"

    def session(self) -> "Session":
        return Session(self._hides)

    def close(self) -> None:
        pass


class Session:
    def __init__(self, hides: bool) -> None:
        self._hides = hides

    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        if self._hides:  # the tool looks for words in the program's text
            code = f"exec(bytes.fromhex('{code.encode().hex()}'))"
        tool = PythonCodeTool(timeout=max(1, round(timeout_s)))
        _, failed, text, _ = tool.execute_action(f"<python>{code}</python>")
        if not failed:
            return "ok", text
        return ("timeout" if "timed out" in text.lower() else "error"), text

    def close(self) -> None:
        pass
