"""Defaults that the command line and the layers below it share."""

MAX_ITERATIONS = 4
"""Propose-verify-correct iterations that an agent has for a task."""

GATE_EXAMPLES = 50
"""Negatives, and variants, that the gate tries for one task, spread over their names."""

VARIANTS = 0
"""Instances with drawn values that stand for a task with parameters; 0: the task with its fixed values."""

VARIANT_SEED = 0
"""What the values of variants are drawn with."""

RULE_TIMEOUT_S = 60
"""What a deck may take on one layout of a rule."""

RESULTS = ".iclayout/results"
"""Folder of trial records, below the folder that pytest was started in."""

RULE_SET = "published"
"""The rule set that a task is judged with where it names none and the technology has one of this name."""
