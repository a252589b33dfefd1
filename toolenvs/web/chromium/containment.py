"""How Chromium is started: where it is found, its flags, and what is put around it."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from toolenvs.errors import ConfigError, WebError, did_you_mean
from toolenvs.web.chromium.launch import Plan

Isolation = Literal["namespace", "bare-namespace", "flags"]
"""What holds Chromium, the strongest first:

namespace: namespaces without a network, a user of its own, and Chromium's own sandbox around each page;
bare-namespace: the same without Chromium's sandbox, where the kernel refuses it;
flags: only the dead proxy and the other flags; no namespace, no sandbox.
"""
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
EXECUTABLE = "TOOLENVS_CHROMIUM"
"""The environment variable that names the browser where it is not on the PATH."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPRIVILEGED_UID = 64_999

_PACKAGE = Path(__file__).resolve().parents[2]
_BOOT = f"""
import sys, types
package = types.ModuleType("toolenvs")  # not the real one, which registers every page
package.__path__ = [{str(_PACKAGE)!r}]
sys.modules["toolenvs"] = package
import json
from toolenvs.web.chromium import launch
launch.main(json.loads(sys.argv[1]), sys.argv[2:])
"""
_FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--no-first-run",
    "--no-default-browser-check",
    # one page is one process, so that its memory is bounded with its frames'
    "--disable-site-isolation-trials",
    # nothing that talks to somebody by itself
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-quic",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    "--no-service-autorun",
    # no way out but the requests that Playwright hands over
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    # the same everywhere
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
    "--disable-smooth-scrolling",
    "--lang=en-US",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    # a page in the background is as fast as one in front
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-back-forward-cache",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-prompt-on-repost",
    # little memory, no window system
    "--disable-breakpad",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-search-engine-choice-screen",
    "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,MediaRouter,OptimizationHints,Translate,"
    "AvoidUnnecessaryBeforeUnloadCheckSync,PaintHolding,DestroyProfileOnBrowserClose,NetworkTimeServiceQuerying,"
    "PreconnectToSearch,SpareRendererForSitePerProcess",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """How one Chromium is started."""

    executable: str
    """Path of the browser."""
    isolation: Isolation | None = None
    """Exactly this; None: the strongest that works here and is not below `min_isolation`."""
    min_isolation: Isolation = "flags"
    """Nothing weaker is used."""
    memory_mb: int = 1024
    """Of each of its processes; a page is one. More kills the page, or fails the allocation in its script."""
    files_mb: int = 256
    """Of all its temporary files, cache and storage together."""

    def tries(self) -> tuple[Isolation, ...]:
        """What to try, in this order."""
        if self.isolation is not None:
            return (self.isolation,)
        return ISOLATIONS[: ISOLATIONS.index(self.min_isolation) + 1]


def setting(
    *,
    executable: str | None = None,
    isolation: str | None = None,
    min_isolation: str = "flags",
    memory_mb: int = 1024,
    files_mb: int = 256,
) -> Setting:
    """Checked values for `Setting`.

    Raises:
        ConfigError: a value cannot be used.
        WebError: there is no browser.
    """
    for name, value in (("isolation", isolation), ("min_isolation", min_isolation)):
        if value is not None and value not in ISOLATIONS:
            raise ConfigError(f"chromium: {name} is not {value!r}; {did_you_mean(value, ISOLATIONS)}")
    for name, number, least in (("memory_mb", memory_mb, 256), ("files_mb", files_mb, 16)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ConfigError(f"chromium: {name} must be a whole number from {least}, not {number!r}")
    return Setting(
        executable=find(executable),
        isolation=isolation,  # type: ignore[arg-type]  # checked above
        min_isolation=min_isolation,  # type: ignore[arg-type]
        memory_mb=memory_mb,
        files_mb=files_mb,
    )


def find(executable: str | None = None) -> str:
    """The path of the browser: what is asked for, else what the environment variable names, else one of `NAMES`.

    Raises:
        WebError: there is none.
    """
    asked = executable or os.environ.get(EXECUTABLE)
    found = shutil.which(asked) if asked else next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return os.path.realpath(found)
    missing = f"{asked!r} is no program" if asked else "no chromium on the PATH"
    raise WebError(
        f"the Chromium backend needs a browser, and {missing}: install one (Debian: apt-get install chromium), "
        f"or name it in the environment variable {EXECUTABLE}"
    )


def command(setting: Setting, isolation: Isolation) -> tuple[str, list[str]]:
    """The program to start and its arguments, for Playwright to add nothing to."""
    plan: Plan = {
        "executable": setting.executable,
        "isolation": isolation,
        "unprivileged_uid": UNPRIVILEGED_UID,
        "memory_mb": setting.memory_mb,
        "files_mb": setting.files_mb,
    }
    sandbox: Sequence[str] = () if isolation == "namespace" else ("--no-sandbox",)
    return sys.executable, ["-I", "-c", _BOOT, json.dumps(plan), *_FLAGS, *sandbox]
