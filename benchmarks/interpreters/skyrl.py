"""SkyRL-Gym's tool; see worker.py. It has no state."""

from importlib.metadata import version

from skyrl_gym.tools import PythonCodeExecutorToolGroup

VERSIONS = {"skyrl-gym": version("skyrl-gym")}


class Backend:
    def __init__(self, variant: str) -> None:
        pass

    def session(self) -> "Session":
        return Session()

    def close(self) -> None:
        pass


class Session:
    def run(self, code: str, timeout_s: float) -> tuple[str, str]:
        text = PythonCodeExecutorToolGroup(timeout=timeout_s).execute_tool("python", code)
        if "timed out after" in text:
            return "timeout", text
        return ("error" if text.startswith("Error executing") else "ok"), text

    def close(self) -> None:
        pass
