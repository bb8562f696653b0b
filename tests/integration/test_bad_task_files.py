"""Each fault of a task file is one error that names file, place and what is accepted; other files still run."""

from __future__ import annotations

import json

import pytest

REGION = {"min": {"x": 0, "y": 0}, "max": {"x": 10, "y": 10}}


def intent(**terminal: object) -> str:
    return json.dumps({"nets": [{"name": "n", "terminals": [{"name": "a", "layer": "68/20", **terminal}]}]})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"checker": "rect_presnt"}, "checker: 'rect_presnt' is unknown; known are ", id="unknown checker"),
        pytest.param(
            {"checker": "rect_present:"}, "checker: 'rect_present:' is no checker; write NAME or", id="no parameters"
        ),
        pytest.param(
            {"checker": "rect_present:layr=68/20"},
            "checker rect_present: layr: unknown key; parameters are layer",
            id="unknown parameter",
        ),
        pytest.param({"chekcer": "intent"}, "chekcer: unknown key; keys are id, tier, prompt,", id="unknown key"),
        pytest.param({"without": ("prompt",)}, "prompt: required, but not given; keys are ", id="missing key"),
        pytest.param({"without": ("checker",)}, "checker: required, but not given; keys are ", id="missing checker"),
        pytest.param({"tier": "one"}, "tier: input should be a valid integer (given 'one')", id="wrong type"),
        pytest.param({"tier": True}, "tier: input should be a valid integer (given True)", id="boolean for a number"),
        pytest.param({"id": "a/../../b"}, "id: string should match pattern", id="id that is a path"),
        pytest.param({"prompt": ""}, "prompt: string should have at least 1 character", id="empty prompt"),
        pytest.param(
            {"checker": "layer_area:layer=68/20,min_area=-1"},
            "checker layer_area: min_area: input should be greater than",
            id="negative size",
        ),
        pytest.param(
            {"more": '[[two_way.bad]]\nlayer = "68/20"\nrect = [10, 0, 0, 10]'},
            "two_way.bad[0].rect: [10, 0, 0, 10] is no rectangle; write [x0, y0, x1, y1]",
            id="rectangle inside out",
        ),
        pytest.param(
            {"checker": "rect_present:layer=99/1"},
            "checker rect_present: layer: layer 99/1 is not in technology sky130",
            id="layer not in the technology",
        ),
        pytest.param(
            {"checker": "rect_present:layer=met1"},
            "layer: 'met1' is not a layer; write LAYER/DATATYPE, for example 68/20",
            id="layer by name",
        ),
        pytest.param(
            {"technology": "sky131"},
            "technology: 'sky131' is no file beside the task and no built-in technology; built in are sky130",
            id="technology missing",
        ),
        pytest.param({"tier": 10}, "tier: input should be less than or equal to 9 (given 10)", id="tier of two digits"),
        pytest.param({"rule_set": "strict"}, "bad.toml: rule_set: ", id="unknown rule set by its key"),
        pytest.param({"rule_set": "strict"}, "no rule set 'strict'", id="unknown rule set"),
        pytest.param(
            {"checker": "drc_clean:present=68/20", "rule_set": "none"},
            "rule_set: checker drc_clean needs rules and there are none in force; technology sky130 has ",
            id="no rules to be clean of",
        ),
        pytest.param({"checker": "intent"}, "intent: checker intent needs it, and it is not given", id="no intent"),
        pytest.param({"checker": "intent", "intent": '{"nets": ['}, "intent: invalid JSON: EOF", id="cut off intent"),
        pytest.param(
            {"checker": "intent", "intent": intent()},
            "intent.nets[0].terminals[0].region: required, but not given",
            id="intent without a region",
        ),
        pytest.param(
            {"intent": intent(region=REGION)},
            "intent: checker rect_present does not take one",
            id="superfluous intent",
        ),
    ],
)
def test_fault_in_a_task(tasks, run, shown, keys, message):
    tasks.write("bad.toml", **keys)
    assert_one_error(tasks, run, shown, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b'id = "bad"\ntier = 1\nprompt = oops\n', "not TOML: Invalid value (at line 3", id="not TOML"),
        pytest.param(b'id = "bad"\ntier = 1\nprompt = "\xff"\n', "not UTF-8 text (byte ", id="not UTF-8"),
        pytest.param(b"", "the file is empty", id="empty"),
        pytest.param(b"\n \n", "the file is empty", id="blank"),
        pytest.param(b"\x00\x01\x02", "not TOML: ", id="binary"),
        pytest.param(b'id = "bad"\ntier = 1\nx = ' + b"[" * 5000, "not TOML: ", id="nested too deep"),
        pytest.param(b'id = "bad"\ntier = ' + b"1" * 5000, "not TOML: Exceeds the limit (4300", id="endless number"),
    ],
)
def test_file_in_a_suite_that_is_no_task_at_all(tasks, run, shown, content, message):
    tasks.write_text("manifest.toml", 'version = "1"\ntasks = ["good"]\n')
    tasks.write_text("bad.toml", content)
    assert_one_error(tasks, run, shown, message)


def test_broken_file_beside_failing_trials_does_not_hide_them(tasks, run):
    tasks.write("bad.toml", tier=0)
    tasks.write("good.toml")
    result = run("--agent=nop")
    result.assert_outcomes(errors=1, failed=1, passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.usefixtures("xdist")
def test_workers_run_the_other_files_as_well(tasks, run, shown):
    tasks.write("bad.toml", tier=0)
    tasks.write("good.toml")
    result = run("-n1", "--agent=oracle")
    result.assert_outcomes(errors=1, passed=3)
    assert "bad.toml: tier: input should be greater than or equal to 1 (given 0)" in shown(result)


def test_broken_test_module_still_stops_the_run(tasks, run, pytester):
    """Only our own files' faults concern nobody else."""
    tasks.write("bad.toml", tier=0)
    tasks.write("good.toml")
    pytester.makepyfile(test_broken="import nothing_of_this_name")
    result = run()
    result.assert_outcomes(errors=2)
    assert result.ret == pytest.ExitCode.INTERRUPTED


def assert_one_error(tasks, run, shown, message):
    tasks.write("good.toml")
    result = run()
    result.assert_outcomes(errors=1, passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = [line for line in shown(result).splitlines() if f"{tasks.folder / 'bad.toml'}: " in line]
    assert lines, shown(result)
    assert message in lines[0]
