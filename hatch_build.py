"""A build hook: HARK_WITHOUT_MODELS=1 leaves the model out of a wheel.

The wheel is then 2 MB instead of 75; `hark models add FOLDER` installs a model beside it.
"""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WithoutModels(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if os.environ.get("HARK_WITHOUT_MODELS") == "1":
            self.build_config.target_config.setdefault("exclude", []).append("/src/hark/models_data/*/")
